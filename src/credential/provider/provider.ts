// What every provider of secrets is made from, and what they share about values.
import type { Egress } from '../../egress/egress.ts'
import type { OwnReach } from '../../egress/own-reach.ts'
import { MAX_SECRET_BYTES, MAX_VALUE_BYTES } from '../../resource/secret.ts'
import { isJsonObject } from '../../util/json.ts'
import type { World } from '../../util/world.ts'
import { type SecretProvider, SecretUnavailable } from '../credential.ts'
import type { KeptSecret, SecretSealer } from '../secret-sealer.ts'

/** Of the store, as it is live: sealed. */
export interface KeptSecrets {
  find(namespace: string, name: string): (KeptSecret & { readonly digest: string }) | undefined
  readonly sealer: Pick<SecretSealer, 'open'>
}

export interface ProviderKit {
  readonly world: World
  /** How far in the runtime itself may reach. */
  readonly reach: OwnReach
  readonly egress: Egress
  readonly env: Readonly<Record<string, string | undefined>>
  /** What paths are relative to. */
  readonly folder: string
  readonly kept: KeptSecrets
}

export type ProviderFactory<S> = (settings: S, kit: ProviderKit) => SecretProvider

/** White space around a value is an editor's or a shell's. An empty one is none. */
export function readValues(
  found: Iterable<readonly [key: string, text: string]>,
  where: string,
): Readonly<Record<string, string>> {
  const values: [string, string][] = []
  let total = 0
  for (const [key, text] of found) {
    const value = text.trim()
    const bytes = Buffer.byteLength(value)
    total += bytes
    if (bytes > MAX_VALUE_BYTES || total > MAX_SECRET_BYTES)
      throw new SecretUnavailable(
        `${where} holds more than ${MAX_VALUE_BYTES} bytes in one value, or ${MAX_SECRET_BYTES} in all. Fix: keep large things elsewhere`,
      )
    if (value !== '') values.push([key, value])
  }
  return Object.fromEntries(values)
}

/** Undefined where it is no UTF-8: tools are given text. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** A JSON object of a reply; its parser's message would repeat what it could not read. */
export function readReply(body: Uint8Array, where: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    if (isJsonObject(value)) return value
  } catch {
    // Said below, without what was in it.
  }
  throw new SecretUnavailable(
    `${where} answered with something that is not its protocol. Fix: see that its address leads to it`,
  )
}
