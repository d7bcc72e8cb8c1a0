// What a change of a resource must say about the one that it replaces, and how it is refused where that is not there.
import type { AnyKind } from '../resource/kinds.ts'
import type { ResourceRow } from '../store/store.ts'
import { Refusal } from './refusal.ts'

export function readIfMatch(header: string | undefined): number | '*' | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (text === '*') return '*'
  const digits = /^(?:"([0-9]{1,15})"|([0-9]{1,15}))$/.exec(text)
  if (digits !== null) return Number(digits[1] ?? digits[2])
  throw preconditionInvalid(
    'If-Match is not an ETag of this resource.',
    'Send the ETag as it was read, such as "12".',
    422,
  )
}

/** A new resource replaces none. */
export function replacesNone(kind: AnyKind, inBody: number | undefined): 0 {
  if (inBody === undefined || inBody === 0) return 0
  throw preconditionInvalid(
    `metadata.resourceVersion belongs to ${oneOf(kind)} that is already there.`,
    'Leave it out to create one; replace one with PUT.',
    422,
  )
}

export function agree(kind: AnyKind, header: number | undefined, inBody: number | undefined): number {
  if (header !== undefined && inBody !== undefined && header !== inBody) {
    throw preconditionInvalid('If-Match and metadata.resourceVersion differ.', 'Send one of the two.', 422)
  }
  const expected = header ?? inBody
  if (expected !== undefined) return expected
  throw preconditionInvalid(
    'A change must name the resourceVersion it was made from.',
    `Read it, then send its ETag as If-Match, or keep metadata.resourceVersion. POST /v1/${kind.plural} creates one.`,
    428,
  )
}

function preconditionInvalid(message: string, fix: string, status: number): Refusal {
  const violations = [{ path: '/headers/if-match', message }]
  return new Refusal({ failure: 'envelope-invalid', status, message, fix, details: { violations } })
}

export function conflict(
  kind: AnyKind,
  expected: number | '*' | undefined,
  found: ResourceRow | undefined,
): Refusal {
  const what = found === undefined ? 'is not there' : `has resourceVersion ${found.resourceVersion}`
  return new Refusal({
    failure: 'envelope-invalid',
    status: 409,
    message: `The ${wordOf(kind)} ${what}; the change was made from ${expected === 0 ? 'none' : expected}.`,
    fix: 'Read it again, make the change anew, and send it with the resourceVersion that was read.',
    details: {
      violations: [{ path: '/metadata/resourceVersion', message: 'is not the one that is there' }],
      expected: expected ?? null,
      found: found?.resourceVersion ?? null,
    },
  })
}

export function versionNeeded(rows: readonly ResourceRow[]): Refusal {
  const versions = rows.map((row) => row.version)
  return new Refusal({
    failure: 'envelope-invalid',
    message: 'The tool has several versions, and If-Match belongs to one.',
    fix: 'Name it with ?version=.',
    details: {
      violations: [{ path: '/query/version', message: `must be one of ${versions.join(', ')}` }],
      versions,
    },
  })
}

export function resourceUnknown(
  kind: AnyKind,
  name: string | undefined,
  version: string | undefined,
  versions: readonly string[],
): Refusal {
  const message = `No ${wordOf(kind)} '${name ?? ''}' in this namespace.`
  if (!kind.versioned) {
    const violations = [{ path: '/name', message: 'is not there' }]
    const fix = `Use the name of one that GET /v1/${kind.plural} lists.`
    return new Refusal({ failure: 'envelope-invalid', status: 404, message, fix, details: { violations } })
  }
  if (version === undefined || versions.length === 0) return new Refusal({ failure: 'tool-unknown', message })
  return new Refusal({
    failure: 'version-unmatched',
    message: `The ${wordOf(kind)} '${name ?? ''}' has no version ${version}.`,
    fix: 'Use one of details.versions.',
    details: { versions },
  })
}

/** Something else needs it. */
export function stillNeeded(message: string, fix: string): Refusal {
  const violations = [{ path: '/name', message }]
  const sentence = `${message.charAt(0).toUpperCase()}${message.slice(1)}.`
  return new Refusal({
    failure: 'envelope-invalid',
    status: 409,
    message: sentence,
    fix,
    details: { violations },
  })
}

/** As a sentence says it: agent role. */
export function wordOf({ singular }: AnyKind): string {
  return singular.replaceAll('-', ' ')
}

export function oneOf(kind: AnyKind): string {
  const word = wordOf(kind)
  return `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`
}
