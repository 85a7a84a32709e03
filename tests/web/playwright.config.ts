import { defineConfig } from '@playwright/test'

// One daemon and one browser at a time: each test makes and deletes volumes of its own.
export default defineConfig({
  testDir: '.',
  workers: 1,
  // Bounds, not waits: a test takes seconds, and minutes where others have the processors.
  timeout: 300_000,
  expect: { timeout: 60_000 },
  reporter: [['list']],
  outputDir: process.env.WEB_TEST_OUTPUT ?? '../../target/web-test',
  use: {
    // The certificate is the daemon's own.
    ignoreHTTPSErrors: true,
    actionTimeout: 60_000,
    screenshot: 'only-on-failure',
    trace: 'retain-on-failure',
    viewport: { width: 1280, height: 800 },
    launchOptions: { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] },
  },
})
