// What the tests of manifests share: short ways to a document, a resolution and a plan.
import assert from 'node:assert/strict'
import { formatProblem, isOfKind, type ManifestDocument, readManifests } from '../../src/resource/manifest.ts'
import type { AppliedResource, ApplyPlan } from '../../src/resource/plan-apply.ts'
import { formatPath } from '../../src/resource/problem.ts'
import { type ResolveOptions, resolveTool, type ToolResolution } from '../../src/resource/resolve-tool.ts'
import type { ResolvedOperation, ResolvedTool } from '../../src/resource/resolved-tool.ts'
import type { ToolManifest, ToolSpec } from '../../src/resource/tool.ts'

export const LOCAL: ResolveOptions = { profile: 'local', effectDefault: 'declared' }
export const PRODUCTION: ResolveOptions = { profile: 'production', effectDefault: 'declared' }

/** A tool that resolves without a word, unless `spec` changes that. */
export function manifest(
  spec: ToolSpec = {},
  metadata: Partial<ToolManifest['metadata']> = {},
): ToolManifest {
  return {
    apiVersion: 'writ.dev/v1',
    kind: 'Tool',
    metadata: { name: 'probe', ...metadata },
    spec: { type: 'http', endpoint: 'https://tool.example.com/run', effect: { class: 'read-only' }, ...spec },
  }
}

/** For values that the types would not let through. */
export function loose(spec: object): ToolSpec {
  return spec as ToolSpec
}

export function resolve(spec: ToolSpec, options: ResolveOptions = LOCAL): ToolResolution {
  return resolveTool(manifest(spec), options)
}

export function resolved(spec: ToolSpec, options: ResolveOptions = LOCAL): ResolvedTool {
  const { tool, errors } = resolve(spec, options)
  assert.deepEqual(errors, [])
  assert.ok(tool)
  return tool
}

export function invokeOf(spec: ToolSpec, options: ResolveOptions = LOCAL): ResolvedOperation {
  const operation = resolved(spec, options).operations.invoke
  assert.ok(operation)
  return operation
}

/** `path: message` of each, and of `fix` where the test asks for it. */
export function lines(findings: ToolResolution['errors']): string[] {
  return findings.map(({ path, message }) => `${formatPath(path)}: ${message}`)
}

/** Exactly one error, at this path, that says this. */
export function refused(spec: ToolSpec, path: string, says: RegExp, options: ResolveOptions = LOCAL): void {
  const { tool, errors } = resolve(spec, options)
  assert.equal(tool, undefined, 'a tool with errors is not resolved')
  const found = errors.filter((error) => formatPath(error.path) === path)
  assert.equal(found.length, 1, `one error at ${path}, not: ${lines(errors).join(' | ')}`)
  assert.match(found[0]?.message ?? '', says)
  assert.equal(errors.length, 1, `no other error: ${lines(errors).join(' | ')}`)
}

export function warned(spec: ToolSpec, path: string, says: RegExp, options: ResolveOptions = LOCAL): void {
  const { warnings, errors } = resolve(spec, options)
  assert.deepEqual(lines(errors), [])
  const found = warnings.find((one) => formatPath(one.path) === path)
  assert.ok(found, `a warning at ${path}, not: ${lines(warnings).join(' | ')}`)
  assert.match(found.message, says)
}

/** A declared control that this build cannot enforce: accepted with a warning, and the call is refused (S33). */
export function refusesCalls(spec: ToolSpec, path: string, failure: string): void {
  warned(spec, path, /calls are refused/)
  const found = resolved(spec).unenforced.find((one) => one.path === path)
  assert.ok(found, `${path} is listed as not enforced`)
  assert.equal(found.failure, failure)
}

export function problemsOf(text: string | Uint8Array, file = 'tool.yaml'): string[] {
  return readManifests(text, file).problems.map(formatProblem)
}

/** The only document of a text without problems. */
export function documentOf(text: string): ManifestDocument<ToolManifest> {
  const { documents, problems } = readManifests(text, 'tool.yaml')
  assert.deepEqual(problems.map(formatProblem), [])
  assert.equal(documents.length, 1)
  const [document] = documents
  assert.ok(isOfKind(document, 'Tool'))
  return document
}

/** What a store would hold after a plan was applied to nothing. */
export function rowsOf({ changes, namespace }: ApplyPlan): AppliedResource[] {
  return changes.map(({ kind, name, version, put }, index) => ({
    namespace,
    kind,
    name,
    version,
    resourceVersion: index + 1,
    ...put,
  }))
}
