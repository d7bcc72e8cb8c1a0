// S49: one version of a tool means one thing. What an apply may not change under the same version.
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../util/json.ts'
import { isOfKind, readManifestValue } from './manifest.ts'
import type { Path } from './problem.ts'
import { type ResolveOptions, resolveTool } from './resolve-tool.ts'
import type { ResolvedTool } from './resolved-tool.ts'
import type { ToolManifest } from './tool.ts'

type Refuse = (path: Path, message: string, fix: string) => void

/** A caller that pinned it must not get another effect, or another place. */
export function checkSameMeaning(
  row: { readonly name: string; readonly digest: string; readonly body: JsonObject },
  tool: ResolvedTool,
  { spec }: ToolManifest,
  options: ResolveOptions,
  refuse: Refuse,
): void {
  const [kept] = readManifestValue(row.body, row.name).documents
  // By the rules of a laptop: what was accepted once is compared, not judged again.
  const before = isOfKind(kept, 'Tool')
    ? resolveTool(kept.manifest, { ...options, profile: 'local', generated: true }).tool
    : undefined
  if (before === undefined) {
    if (row.digest !== tool.digest) {
      refuse(['spec'], 'what is applied under this version cannot be read by this build', bump(tool.version))
    }
    return
  }
  for (const [name, operation] of Object.entries(before.operations)) {
    const now = tool.operations[name]?.effect
    if (now === undefined) continue
    if (operation.internal) {
      // What it means is in the effect that names it; where it goes is a place like the endpoint.
      const [owner = ''] = name.split('$', 1)
      const at = owner === '' ? ['spec', 'effect'] : ['spec', 'operations', owner, 'effect']
      if (originOf(operation.request?.url) !== originOf(tool.operations[name]?.request?.url))
        refuse(at, `names another place than ${tool.name} ${tool.version} does`, bump(tool.version))
      continue
    }
    const { identity: oldIdentity, ...oldEffect } = operation.effect
    const { identity, ...effect } = now
    const path = spec.operations === undefined ? ['spec', 'effect'] : ['spec', 'operations', name, 'effect']
    if (!isDeepStrictEqual(effect, oldEffect)) {
      refuse(path, `is another effect than ${tool.name} ${tool.version} has`, bump(tool.version))
    }
    if (!isDeepStrictEqual(identity, oldIdentity)) {
      refuse(
        [...path, 'identity'],
        `is another identity than ${tool.name} ${tool.version} has`,
        bump(tool.version),
      )
    }
  }
  if (originOf(before.endpoint) !== originOf(tool.endpoint)) {
    refuse(['spec', 'endpoint'], `is another place than ${tool.name} ${tool.version} has`, bump(tool.version))
  }
}

/** `host:port` of gRPC has no origin of its own. */
function originOf(endpoint: string | undefined): string | undefined {
  if (endpoint === undefined) return undefined
  const url = URL.parse(endpoint)
  return url === null || url.origin === 'null' ? endpoint : url.origin
}

function bump(version: string): string {
  const [major = '0'] = version.split('.')
  return `write version: ${Number(major) + 1}.0.0`
}
