// A row of a field table: one field of a manifest, once: its default, its other spellings, where it comes from and
// whether it is enforced. Reading aliases, the reference pages and a test against the schema all work from such rows (S48).

/** How an alias or a loosely written value becomes the canonical one. */
export type ReadRule =
  | 'lower'
  | 'seconds'
  | 'milliseconds'
  | 'megabytes'
  | 'jitter'
  | 'backoff'
  | 'profile'
  | 'effect-class'
  | 'egress'
  | 'rate'
  | 'concurrency'
  | 'decision'

export interface FieldAlias {
  readonly path: string
  readonly as?: ReadRule
  /** Only when the value has this form; else the name means something else, or is unknown. */
  readonly when?: 'object' | 'text'
}

export interface FieldRow {
  /** `*` is any name in a map, `[]` any item of a list. */
  readonly path: string
  readonly type: string
  readonly default: string
  readonly aliases: readonly FieldAlias[]
  /** Seed numbers, or the rule of semantics that asks for it. */
  readonly source: readonly string[]
  /** `now`; `descriptive`, where there is nothing to enforce; else why not yet. */
  readonly enforced: string
  readonly description: string
  /** How a loosely written value is read at its own place. */
  readonly reads?: ReadRule
}

export interface RowExtras {
  readonly aliases?: readonly (string | FieldAlias)[]
  readonly reads?: ReadRule
}

export function field(
  path: string,
  type: string,
  fallback: string,
  source: string,
  enforced: string,
  description: string,
  extras: RowExtras = {},
): FieldRow {
  const aliases = (extras.aliases ?? []).map((alias) => (typeof alias === 'string' ? { path: alias } : alias))
  const reads = extras.reads === undefined ? {} : { reads: extras.reads }
  return {
    path,
    type,
    default: fallback,
    aliases,
    source: source.split(' '),
    enforced,
    description,
    ...reads,
  }
}

/** Every field of one kind. */
export interface FieldTable {
  /** Containers stand before their parts. */
  readonly rows: readonly FieldRow[]
  /** Blocks that have the shape of another one: aliases work there in the same way. */
  readonly sameShape: readonly { readonly from: string; readonly to: string }[]
}

/** No default. */
export const NO = ''

// biome-ignore format: a row reads as a row
const DOCUMENT: readonly FieldRow[] = Object.freeze([
  field('apiVersion', 'writ.dev/v1', NO, '002', 'now', 'Version of the manifest format. `orloj.dev/v1` is read too.'),
  field('metadata', 'object', NO, '002', 'now', 'Who it is.'),
  field('metadata.name', 'name', NO, '002', 'now', 'Letters, digits, `.`, `_`, `-`; 1 to 128, starting with a letter or digit.'),
  field('metadata.namespace', 'name', 'default', '002', 'now', 'ABOUT Lower-case letters, digits, `.`, `_`, `-`.'),
  field('metadata.labels', 'map of text', '{}', '002', 'descriptive', 'For finding.'),
  field('metadata.annotations', 'map of text', '{}', '002', 'descriptive', 'For other programs.'),
  field('metadata.resourceVersion', 'number', NO, '002', 'now', 'As read back: apply is refused if the resource has changed since.'),
  ...['metadata.generation', 'metadata.createdAt', 'metadata.updatedAt', 'status', 'status.phase', 'status.lastError', 'status.observedGeneration', 'status.digest'].map((path) =>
    field(path, path === 'status' ? 'object' : 'as read back', NO, '002', 'descriptive', 'Read back; left alone by apply.')),
])

/** What every document of a kind without anything special in its head has; `about` says what its namespace means. */
export function documentFields(kind: string, about = 'It governs this namespace only.'): readonly FieldRow[] {
  const own = field('kind', kind, NO, '002', 'now', 'What is declared; upper and lower case do not matter.')
  return [own, ...DOCUMENT.map((row) => ({ ...row, description: row.description.replace('ABOUT', about) }))]
}
