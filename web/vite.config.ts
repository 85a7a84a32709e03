import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'
import { smaller } from './scripts/smaller-uplot.ts'

// The daemon that `npm run dev` asks: https://127.0.0.1:8443 unless ASHLAR_URL names another.
const daemon = process.env.ASHLAR_URL ?? 'https://127.0.0.1:8443'

const smallerUPlot = {
  name: 'smaller-uplot',
  transform: (code: string, id: string) => (id.endsWith('uPlot.esm.js') ? smaller(code) : null),
}

export default defineConfig({
  plugins: [smallerUPlot, svelte()],
  build: {
    // Those that know light-dark() and nesting: nothing has to be made out of them.
    target: ['chrome125', 'firefox128', 'safari18'],
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
  },
  server: { proxy: { '/api': { target: daemon, secure: false } } },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
})
