// What a drive that no pool has is and holds, in words.
import type { DriveInfo } from '../api/client'
import { bytes, text } from './format'

export const said = (it: DriveInfo): string =>
  `${[it.model ?? it.kind, it.serial, text(bytes(it.size_bytes))].filter(Boolean).join(', ')}. It holds ${it.content}.`

/** What is lost if these drives are taken; nothing is said if they are blank. */
export function heldBy(drives: DriveInfo[]): string | undefined {
  const full = drives.filter((it) => !it.states.includes('blank'))
  return full.length > 0 ? full.map((it) => `${it.spec} holds ${it.content}. All of it is lost.`).join('\n') : undefined
}
