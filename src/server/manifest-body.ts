// The manifest of one resource in a request body, and the resourceVersion it must replace.
import type { AnyKind } from '../resource/kinds.ts'
import { type ManifestDocument, type Problem, readManifests } from '../resource/manifest.ts'
import { Refusal } from './refusal.ts'

export type ManifestBody =
  | { readonly ok: false; readonly problems: readonly Problem[] }
  | {
      readonly ok: true
      /** Undefined where the manifest names none. */
      readonly namespace: string | undefined
      readonly name: string
      readonly version: string
      readonly resourceVersion?: number
      readonly document: ManifestDocument
    }

/** Only what decides which resource is meant; whether it can be used is asked when it is applied. */
export function readManifest(text: Buffer, kind: AnyKind, nameInPath: string | undefined): ManifestBody {
  const { documents, problems } = readManifests(text, 'body')
  const [document] = documents
  if (problems.some((problem) => problem.severity === 'error') || document === undefined) {
    return { ok: false, problems }
  }
  if (documents.length > 1) throw invalid('', 'holds several documents', 'Send them to POST /v1/apply.')
  const { manifest } = document
  const { metadata } = manifest
  if (document.kind !== kind.name) {
    throw invalid(
      '/kind',
      `is ${document.kind}, and not ${kind.name}`,
      'Send it to its own path, or to POST /v1/apply.',
    )
  }
  if (nameInPath !== undefined && metadata.name !== nameInPath) {
    throw invalid('/metadata/name', 'is not the name in the path', 'Use one name; nothing is ever renamed.')
  }
  const { resourceVersion } = metadata
  return {
    ok: true,
    namespace: metadata.namespace,
    name: metadata.name,
    version: (manifest.kind === 'Tool' ? manifest.spec.version : undefined) ?? '0.0.0',
    document,
    ...(resourceVersion === undefined ? {} : { resourceVersion: Number(resourceVersion) }),
  }
}

/** The manifest with the resourceVersion that must be there; 0 means that none may be. */
export function textExpecting({ manifest }: ManifestDocument, expected: number): string {
  return JSON.stringify({ ...manifest, metadata: { ...manifest.metadata, resourceVersion: expected } })
}

/** Problems of that text, at the places of the one that the caller sent. */
export function placeProblems(document: ManifestDocument, problems: readonly Problem[]): readonly Problem[] {
  return problems.map((problem) => ({
    ...problem,
    ...document.at(segmentsOf(problem.path), problem.inside),
  }))
}

/** From `spec.approval_triggers[0].op` to its names and indexes. */
function segmentsOf(path: string): (string | number)[] {
  const parts = path.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([^.[\]]+)/g)
  return [...parts].map(([, index, quoted, name]) => {
    if (index !== undefined) return Number(index)
    return quoted === undefined ? (name ?? '') : (JSON.parse(quoted) as string)
  })
}

function invalid(path: string, message: string, fix: string): Refusal {
  return new Refusal({
    failure: 'envelope-invalid',
    message: `The manifest ${path === '' ? '' : `at ${path} `}${message}.`,
    fix,
    details: { violations: [{ path, message }] },
  })
}
