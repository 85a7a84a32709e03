import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'

// The daemon that `npm run dev` asks: https://127.0.0.1:8443 unless ASHLAR_URL names another.
const daemon = process.env.ASHLAR_URL ?? 'https://127.0.0.1:8443'

// What uPlot can and no chart here needs: its own dates, and lines other than straight ones.
const UNUSED: [string, string][] = [
  ['const FEAT_TIME          = true;', 'const FEAT_TIME = false;'],
  ['(paths.stepped = stepped);', ';'],
  ['(paths.bars    = bars);', ';'],
  ['(paths.spline  = monotoneCubic);', ';'],
  ['uPlot.join = join;', ''],
]

const smallerUPlot = {
  name: 'smaller-uplot',
  transform(code: string, id: string) {
    if (!id.endsWith('uPlot.esm.js')) return null
    return UNUSED.reduce((rest, [text, instead]) => {
      if (!rest.includes(text)) throw new Error(`uPlot has no '${text}' any more: see vite.config.ts`)
      return rest.replace(text, instead)
    }, code)
  },
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
