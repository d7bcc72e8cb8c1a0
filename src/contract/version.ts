// The version of the wire contract. It is written on every answer and held by the pins in test/pins.

/** The major version: what `tool_contract_version` says (S1). Another major is another dialect. */
export const CONTRACT_VERSION = 'v1'

/** `<major>.<minor>`: the minor grows with every additive change of a public schema or of the failure table. */
export const CONTRACT_REVISION = '1.3'

/** S1: `v1` or `v1.<n>`, in either case. */
export function isSupportedVersion(version: string): boolean {
  return /^v1(\.[0-9]{1,9})?$/i.test(version)
}
