// Kinds as commands name them: roles is what people write; role, agent-roles and agent-role are the same.
import { type AnyKind, KINDS } from '../resource/kinds.ts'

/** For an argument that is a kind. */
export const KIND_WORDS: { readonly values: readonly string[]; readonly also: readonly string[] } = {
  values: KINDS.map(({ plural }) => short(plural)),
  also: KINDS.flatMap((kind) => wordsOf(kind).filter((word) => word !== short(kind.plural))),
}

/** The command line was checked against the words above. */
export function kindOf(word: string): AnyKind {
  const kind = KINDS.find((one) => wordsOf(one).includes(word))
  if (kind === undefined) throw new TypeError(`no kind ${word}`)
  return kind
}

/** As a sentence says it: agent role. */
export function wordOf({ singular }: AnyKind): string {
  return singular.replaceAll('-', ' ')
}

function wordsOf({ plural, singular }: AnyKind): readonly string[] {
  return [...new Set([short(plural), short(singular), plural, singular])]
}

/** What follows the hyphen: no two kinds have the same. */
function short(word: string): string {
  return word.slice(word.indexOf('-') + 1)
}
