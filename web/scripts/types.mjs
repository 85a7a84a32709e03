// Makes src/api/schema.d.ts of the API's document, or checks that it is what it would make.
//
// usage: node scripts/types.mjs [--check] OPENAPI.JSON
import { readFileSync, writeFileSync } from 'node:fs'
import openapiTS, { astToString } from 'openapi-typescript'

const args = process.argv.slice(2)
const isCheck = args[0] === '--check'
const source = args.at(-1)
if (!source || source.startsWith('--')) {
  console.error('usage: node scripts/types.mjs [--check] OPENAPI.JSON')
  process.exit(2)
}
const target = new URL('../src/api/schema.d.ts', import.meta.url)
const { openapi, info, components } = JSON.parse(readFileSync(source, 'utf8'))
// The version is no type, and changes with each release.
const document = { openapi, info: { ...info, version: '' }, paths: {}, components: { schemas: components.schemas } }
const made = `// Made by scripts/types.mjs of the API's document. \`make web-types\` makes it anew.\n${astToString(await openapiTS(document))}`
if (!isCheck) {
  writeFileSync(target, made)
} else if (readFileSync(target, 'utf8') !== made) {
  console.error('web/src/api/schema.d.ts is not what the API says: `make web-types` makes it anew')
  process.exit(1)
}
