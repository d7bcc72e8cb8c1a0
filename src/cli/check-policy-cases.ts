// Names of policy cases that no manifest declares: whoever misspells one is denied, and a case that expects just that would
// hold for the wrong reason.
import type { ManifestDocument } from '../resource/manifest.ts'
import { createFindings, type Path, type Position, type Problem, toProblem } from '../resource/problem.ts'
import { didYouMean } from '../util/did-you-mean.ts'
import type { PolicyCase } from './read-policy-cases.ts'

/** A case with a code says itself why it is denied, and one that expects more shows what was wrong when it fails. */
export function checkPolicyCases(
  cases: readonly PolicyCase[],
  documents: readonly ManifestDocument[],
  file: string,
  at: (path: Path) => Position,
): readonly Problem[] {
  const findings = createFindings()
  const declared = (kind: string) =>
    documents.flatMap((one) => (one.kind === kind ? [one.manifest.metadata.name] : []))
  const names = { Tool: declared('Tool'), AgentRole: declared('AgentRole') }
  const look = (kind: keyof typeof names, name: string, path: Path) => {
    if (names[kind].includes(name)) return
    const close = didYouMean(name, names[kind])
    findings.error(
      path,
      `no ${kind} '${name}' is in the manifests, so everybody is denied`,
      close === undefined ? 'add its manifest, or say with code why it is denied' : `did you mean ${close}?`,
    )
  }
  for (const [index, { call, caller, expect, code }] of cases.entries()) {
    if (code !== undefined || (expect !== 'deny' && expect !== 'error')) continue
    look('Tool', call.tool, ['cases', index, 'call', 'tool'])
    for (const [role, name] of (caller.roles ?? []).entries())
      look('AgentRole', name, ['cases', index, 'caller', 'roles', role])
  }
  return findings.all.map((one) => toProblem(one, file, at(one.path)))
}
