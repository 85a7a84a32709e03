// Writes the licences of what is in the bundle beside it, and packs what `vite build` has made as
// small as it gets, for the daemon to send as it is: beside each file one by gzip and one by brotli.
// What the packers are may differ from machine to machine, so `make web-check` compares what is
// unpacked.
//
// usage: node scripts/compress.mjs [FOLDER]    (dist)
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const web = fileURLToPath(new URL('..', import.meta.url))
const dist = process.argv[2] ?? join(web, 'dist')
/** Packages whose code is in the bundle. */
const LINKED = ['svelte', 'uplot', 'clsx']
/** What the whole page may take on the wire, by gzip. */
const GZIP_BYTES_MAX = 80_000

function files(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    return statSync(path).isDirectory() ? files(path) : [path]
  })
}

function licence(name) {
  const folder = join(web, 'node_modules', name)
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((it) => /^licen[cs]e/i.test(it))
  return `---- ${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
}

writeFileSync(join(dist, 'licenses.txt'), `The dashboard of Ashlar holds parts of these.\n\n${LINKED.map(licence).join('\n')}`)
let sent = 0
for (const file of files(dist).filter((it) => !/\.(gz|br)$/.test(it)).sort()) {
  const raw = readFileSync(file)
  const gzip = gzipSync(raw, { level: 9 })
  const brotli = brotliCompressSync(raw, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: raw.length } })
  writeFileSync(`${file}.gz`, gzip)
  writeFileSync(`${file}.br`, brotli)
  // Nobody loads the licences with the page.
  if (!file.endsWith('.txt')) sent += gzip.length
  console.log(`${file.slice(dist.length + 1)}: ${raw.length} bytes, ${gzip.length} by gzip, ${brotli.length} by brotli`)
}
console.log(`in all ${sent} bytes by gzip, of at most ${GZIP_BYTES_MAX}`)
if (sent > GZIP_BYTES_MAX) process.exit(1)
