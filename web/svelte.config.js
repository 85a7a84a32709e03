import { vitePreprocess } from '@sveltejs/vite-plugin-svelte'

// Names of four letters for the styles of components: they stand in every template.
const files = new Map()
function cssHash({ filename, hash }) {
  const name = `s${hash(filename).slice(0, 3)}`
  if ((files.get(name) ?? filename) !== filename) throw new Error(`${filename} and ${files.get(name)} have one name for their styles`)
  files.set(name, filename)
  return name
}

export default { preprocess: vitePreprocess(), compilerOptions: { runes: true, discloseVersion: false, cssHash } }
