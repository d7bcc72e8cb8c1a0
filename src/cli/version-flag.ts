// --version, where it is about a resource: only some kinds have versions.
import type { AnyKind } from '../resource/kinds.ts'
import { usageError } from './cli-error.ts'

export function refuseVersion(kind: AnyKind, version: string | undefined): void {
  if (version === undefined || kind.versioned) return
  throw usageError(`${kind.plural.replaceAll('-', ' ')} have no versions`, 'leave --version out')
}
