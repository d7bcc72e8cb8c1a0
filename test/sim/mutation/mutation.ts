// One safety rule, as the edits of the sources that take it out.

export interface Edit {
  readonly file: string
  /** Must be there exactly once, else the mutation is stale. */
  readonly find: string
  readonly replace: string
}

export interface Mutation {
  readonly name: string
  /** The rule of the semantics that goes missing. */
  readonly rule: string
  readonly edits: readonly Edit[]
  readonly note?: string
}

/** A mutation of one place. */
export function one(
  name: string,
  rule: string,
  file: string,
  find: string,
  replace: string,
  note?: string,
): Mutation {
  return { name, rule, edits: [{ file, find, replace }], ...(note === undefined ? {} : { note }) }
}
