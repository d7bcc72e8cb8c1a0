// Changes to a JSON value by pointer, made at once on a copy, so that none moves the place of another.
import type { Json } from '../util/json.ts'
import { splitPointer } from '../util/pointer.ts'

interface Edit {
  dropped: boolean
  value?: number
  readonly inner: Map<string, Edit>
}

export interface Edits {
  /** A field that is dropped stays so, whatever else is said about it or what is inside. */
  drop(pointer: string): void
  set(pointer: string, value: number): void
  /** Undefined where the whole value is dropped. What is not changed is shared with `value`. */
  apply(value: Json | undefined): Json | undefined
}

const createEdit = (): Edit => ({ dropped: false, inner: new Map() })

export function createEdits(): Edits {
  const root = createEdit()
  let any = false

  function at(pointer: string): Edit {
    any = true
    let edit = root
    for (const segment of splitPointer(pointer) ?? []) {
      const next = edit.inner.get(segment) ?? createEdit()
      edit.inner.set(segment, next)
      edit = next
    }
    return edit
  }

  return {
    drop(pointer) {
      at(pointer).dropped = true
    },
    set(pointer, value) {
      at(pointer).value = value
    },
    apply(value) {
      if (!any || value === undefined) return value
      return root.dropped ? undefined : edited(value, root)
    },
  }
}

function edited(value: Json, { value: set, inner }: Edit): Json {
  if (set !== undefined) return set
  if (inner.size === 0 || typeof value !== 'object' || value === null) return value
  const kept = (item: Json, key: string): { readonly item: Json }[] => {
    const edit = inner.get(key)
    if (edit === undefined) return [{ item }]
    return edit.dropped ? [] : [{ item: edited(item, edit) }]
  }
  if (Array.isArray(value)) {
    return value.flatMap((item: Json, index) => kept(item, String(index))).map(({ item }) => item)
  }
  // Not by assignment: `__proto__` is a name like any other here.
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inside]) =>
      kept(inside, key).map(({ item }): [string, Json] => [key, item]),
    ),
  )
}
