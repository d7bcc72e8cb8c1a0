// What the tests of roles, permissions and policies share: a manifest in, what it means or what is wrong with it out.
import assert from 'node:assert/strict'
import { type Declared, resolveManifest } from '../../src/resource/kinds.ts'
import { formatProblem, readManifests } from '../../src/resource/manifest.ts'
import { type ApplyPlan, type PlanApplyOptions, planApply } from '../../src/resource/plan-apply.ts'
import { toProblem } from '../../src/resource/problem.ts'
import type { ResolveOptions } from '../../src/resource/resolve-tool.ts'
import { LOCAL } from './support.ts'

/** A document of a kind, its spec from line 4 on. */
export function document(kind: string, name: string, spec: string): string {
  const indented = spec.trimEnd().replaceAll(/^(?=.)/gm, '  ')
  return `apiVersion: writ.dev/v1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec:${spec.trim() === '' ? ' {}' : `\n${indented}`}\n`
}

type ResolvedOf = { readonly [One in Declared as One['kind']]: One['resolved'] }

/** What was read without an error. */
export function declared<K extends Declared['kind']>(
  kind: K,
  spec: string,
  options: ResolveOptions & { readonly generation?: number } = LOCAL,
): ResolvedOf[K] {
  const { documents, problems } = readManifests(document(kind, 'probe', spec), 'x.yaml')
  assert.deepEqual(problems.filter((one) => one.severity === 'error').map(formatProblem), [])
  const [first] = documents
  assert.ok(first)
  const { declared: found, errors } = resolveManifest(first.manifest, options)
  assert.deepEqual(errors, [])
  assert.equal(found?.kind, kind)
  return found?.resolved as ResolvedOf[K]
}

/** All problems of one document, as people read them, with the rest of the fix left out. */
export function problems(
  kind: Declared['kind'],
  spec: string,
  options: ResolveOptions = LOCAL,
  severity: 'error' | 'warning' = 'error',
): string[] {
  const read = readManifests(document(kind, 'probe', spec), 'x.yaml')
  const found = read.documents.flatMap((one) => {
    const { errors, warnings } = resolveManifest(one.manifest, options)
    return [...errors, ...warnings].map((finding) => toProblem(finding, one.file, one.at(finding.path)))
  })
  return [...read.problems, ...found]
    .filter((one) => one.severity === severity)
    .map((one) => `${one.line}:${one.column} ${one.path}: ${one.message}`)
}

export function warnings(kind: Declared['kind'], spec: string, options: ResolveOptions = LOCAL): string[] {
  return problems(kind, spec, options, 'warning')
}

/** The plan of a set of documents over nothing. */
export function planOf(text: string, options: PlanApplyOptions = LOCAL): ApplyPlan {
  const read = readManifests(text, 'set.yaml')
  assert.deepEqual(read.problems.map(formatProblem), [])
  return planApply([], read.documents, options)
}

export function told(plan: ApplyPlan, severity: 'error' | 'warning' = 'error'): string[] {
  return plan.problems.filter((one) => one.severity === severity).map(formatProblem)
}
