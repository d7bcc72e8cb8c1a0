// Kinds as commands name them: tool or tools, agent-role or agent-roles.
import { type AnyKind, KINDS } from '../resource/kinds.ts'

export const KIND_WORDS: readonly string[] = KINDS.flatMap(({ plural, singular }) => [plural, singular])

/** The command line was checked against the words above. */
export function kindOf(word: string): AnyKind {
  const kind = KINDS.find(({ plural, singular }) => word === plural || word === singular)
  if (kind === undefined) throw new TypeError(`no kind ${word}`)
  return kind
}

/** As a sentence says it: agent role. */
export function wordOf({ singular }: AnyKind): string {
  return singular.replaceAll('-', ' ')
}
