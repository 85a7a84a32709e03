import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'

// The daemon that `npm run dev` asks: https://127.0.0.1:8443 unless ASHLAR_URL names another.
const daemon = process.env.ASHLAR_URL ?? 'https://127.0.0.1:8443'

export default defineConfig({
  plugins: [svelte()],
  build: {
    // Those that know light-dark() and nesting: nothing has to be made out of them.
    target: ['chrome125', 'firefox128', 'safari18'],
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    rollupOptions: { output: { entryFileNames: 'assets/[name]-[hash].js' } },
  },
  server: { proxy: { '/api': { target: daemon, secure: false } } },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
})
