// Takes one safety rule out of the product as it is loaded, so that no seam for it is needed in the product itself.
import { registerHooks } from 'node:module'
import type { Mutation } from './mutation/mutation.ts'

/** The text with every edit made. Throws when an edit does not fit exactly once: the rule has moved, or is gone. */
export function mutated(mutation: Mutation, file: string, source: string): string {
  let text = source
  for (const edit of mutation.edits) {
    if (edit.file !== file) continue
    const parts = text.split(edit.find)
    if (parts.length !== 2) {
      throw new Error(
        `mutation ${mutation.name} is stale: its text is ${parts.length - 1} times in ${file}, not once:\n${edit.find}`,
      )
    }
    text = parts.join(edit.replace)
  }
  return text
}

/** From now on, whatever is imported from src/ is mutated. Call it before the first such import. */
export function registerMutation(mutation: Mutation): void {
  const files = new Map(
    mutation.edits.map(({ file }) => [new URL(`../../${file}`, import.meta.url).href, file]),
  )
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      const file = files.get(url)
      if (file === undefined || loaded.source === undefined || loaded.source === null) return loaded
      const source =
        typeof loaded.source === 'string'
          ? loaded.source
          : Buffer.from(loaded.source as Uint8Array).toString()
      return { ...loaded, source: mutated(mutation, file, source) }
    },
  })
}
