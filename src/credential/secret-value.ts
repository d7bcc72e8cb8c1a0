// Which of the values of a secret is meant.
import type { SecretMaterial } from './credential.ts'

export type SecretValue =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly why: string }

/** S50: a shorter one could not be taken out of replies without taking them apart. Providers other than ours may hold one. */
const MIN_BYTES = 8

/** Without a key: `value`, or the only one there is. */
export function secretValue(
  { values }: SecretMaterial,
  key: string | undefined,
  min = MIN_BYTES,
): SecretValue {
  const names = Object.keys(values)
  const name = key ?? (Object.hasOwn(values, 'value') || names.length !== 1 ? 'value' : names[0])
  const found = name !== undefined && Object.hasOwn(values, name) ? values[name] : undefined
  if (found === undefined) {
    return key === undefined
      ? { ok: false, why: `holds ${names.length} values and none named 'value'; name one, as NAME:KEY` }
      : { ok: false, why: `holds no value '${key}'` }
  }
  // Written with an editor or echo, it ends in a line break that is no part of it.
  const value = found.replace(/[\r\n]+$/, '')
  if (value === '') return { ok: false, why: 'is empty' }
  if (Buffer.byteLength(value) < min)
    return { ok: false, why: `is shorter than ${min} bytes, so that it could not be kept out of replies` }
  return { ok: true, value }
}
