// The part of an entry that is written once, as engines keep it: one JSON text beside the columns that change.
import type { Entry } from '../contract/entry.ts'

export type FixedPart = Pick<
  Entry,
  | 'requestId'
  | 'dialect'
  | 'tool'
  | 'version'
  | 'digest'
  | 'operation'
  | 'readOnly'
  | 'caller'
  | 'payloadHash'
  | 'fingerprint'
  | 'fingerprintFields'
  | 'trace'
  | 'credential'
>

export function fixedPart(entry: Entry): FixedPart {
  return {
    requestId: entry.requestId,
    dialect: entry.dialect,
    tool: entry.tool,
    version: entry.version,
    digest: entry.digest,
    operation: entry.operation,
    readOnly: entry.readOnly,
    caller: entry.caller,
    payloadHash: entry.payloadHash,
    fingerprint: entry.fingerprint,
    fingerprintFields: entry.fingerprintFields,
    trace: entry.trace,
    ...(entry.credential === undefined ? {} : { credential: entry.credential }),
  }
}
