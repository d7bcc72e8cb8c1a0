// AES-256-GCM around text. What a sealed text belongs to is part of the seal: moved elsewhere, it does not open.
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import type { World } from '../util/world.ts'

export const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const CIPHER = 'aes-256-gcm'
/** Another way of sealing gets another one. */
const FORM = 'v1:'

/** What a seal is bound to: its purpose first, then names. */
export type Binding = readonly [purpose: string, ...names: readonly string[]]

export function randomKey(world: Pick<World, 'secret'>, bytes = KEY_BYTES): Buffer {
  return Buffer.from(world.secret(bytes), 'base64url')
}

/** A key for one purpose; nothing about the one it comes from, nor about its siblings, can be told from it. */
export function derivedKey(key: Uint8Array, purpose: string, bytes = KEY_BYTES): Buffer {
  return Buffer.from(hkdfSync('sha256', key, new Uint8Array(0), purpose, bytes))
}

export function seal(
  world: Pick<World, 'secret'>,
  key: Uint8Array,
  binding: Binding,
  plain: Uint8Array,
): string {
  const nonce = randomKey(world, NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(bound(binding))
  const sealed = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  return FORM + sealed.toString('base64url')
}

/** Undefined where it was sealed with another key or for something else, or changed since. */
export function unseal(key: Uint8Array, binding: Binding, sealed: string): Buffer | undefined {
  const bytes = Buffer.from(sealed.startsWith(FORM) ? sealed.slice(FORM.length) : '', 'base64url')
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
  const nonce = bytes.subarray(0, NONCE_BYTES)
  const end = bytes.length - TAG_BYTES
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(bound(binding))
    .setAuthTag(bytes.subarray(end))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, end)), decipher.final()])
  } catch {
    return undefined
  }
}

/** As JSON, so that where one name ends and the next begins is bound, too. */
function bound(binding: Binding): Buffer {
  return Buffer.from(JSON.stringify(binding))
}
