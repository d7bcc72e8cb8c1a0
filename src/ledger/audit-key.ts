// The key that checkpoints are signed with (Ed25519), and the public half that anyone can check them with (S39).
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'

/** The public half, as it is shown and kept. */
export interface AuditPublicKey {
  /** The first 16 hex digits of the SHA-256 of the public key. */
  readonly keyId: string
  /** The public key as DER (SPKI), in base64. */
  readonly publicKey: string
  verifies(text: string, signature: string): boolean
}

export interface AuditKey extends AuditPublicKey {
  sign(text: string): string
}

/** A new private key, as PEM text (PKCS 8). */
export function makeKeyText(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}

/** Throws for text that is no private key of this kind. What is thrown never holds any of the text. */
export function readAuditKey(pem: string): AuditKey {
  const key = tryRead(() => createPrivateKey(pem))
  if (key?.asymmetricKeyType !== 'ed25519') {
    throw new Error('it holds no Ed25519 private key in PEM form')
  }
  return {
    ...publicOf(createPublicKey(key)),
    sign: (text) => sign(null, Buffer.from(text), key).toString('base64url'),
  }
}

/** A public key as PEM, or as the base64 that `publicKey` is; undefined for anything else. */
export function readPublicKey(text: string): AuditPublicKey | undefined {
  const trimmed = text.trim()
  // A private key would be read, too; it has no business where public ones are expected.
  if (trimmed.includes('PRIVATE KEY')) return undefined
  const key = trimmed.startsWith('-----')
    ? tryRead(() => createPublicKey(trimmed))
    : tryRead(() => createPublicKey({ key: Buffer.from(trimmed, 'base64'), format: 'der', type: 'spki' }))
  return key?.asymmetricKeyType === 'ed25519' ? publicOf(key) : undefined
}

function publicOf(key: KeyObject): AuditPublicKey {
  const der = key.export({ type: 'spki', format: 'der' })
  return {
    keyId: hash('sha256', der, 'hex').slice(0, 16),
    publicKey: der.toString('base64'),
    verifies(text, signature) {
      const bytes = Buffer.from(signature, 'base64url')
      // Node reads base64 leniently: one signature has one spelling here.
      return bytes.toString('base64url') === signature && verify(null, Buffer.from(text), key, bytes)
    },
  }
}

function tryRead(read: () => KeyObject): KeyObject | undefined {
  try {
    return read()
  } catch {
    // Only whether it is a key matters; the messages of the library may quote what it was given.
    return undefined
  }
}
