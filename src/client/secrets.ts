// What is done about the secrets that a server keeps, beside writing them as any other resource.
import { ask, type Target } from './exchange.ts'

export interface KeyRotationReply {
  /** The newest master key, which all of them are wrapped by from now on. */
  readonly key_id: string
  /** It was made just now; else it is what the server was given. */
  readonly added: boolean
  readonly rewrapped: number
  /** Others kept changing them: ask again. */
  readonly left: number
  readonly unopened: readonly { readonly namespace: string; readonly name: string; readonly why: string }[]
  /** Older master keys that only backups need. */
  readonly unused: readonly string[]
}

export interface SecretClient {
  /** Wrap the data keys of all secrets with the newest master key. For the admin. */
  rotateSecretKey(): Promise<KeyRotationReply>
}

/** Each data key is written anew: with many secrets that takes longer than a question does. */
const ROTATION_MS = 600_000

export function secretClient(target: Target, timeoutMs: number): SecretClient {
  return {
    async rotateSecretKey() {
      const { body } = await ask(target, {
        method: 'POST',
        path: 'v1/secrets/rotate-key',
        timeoutMs: Math.max(timeoutMs, ROTATION_MS),
        body: '{}',
      })
      return body as unknown as KeyRotationReply
    },
  }
}
