// The live tools: versions, pins and compiled schemas. Filled at apply, read on every call.
import semver from 'semver'
import type { FailureId } from '../contract/failures.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import type { JsonObject } from '../util/json.ts'
import { type CompiledSchema, compileSchema } from '../util/json-schema.ts'

/** A resolved tool with what a call needs of it ready to run. */
export interface CatalogTool {
  readonly tool: ResolvedTool
  /** By operation; absent where no schema was declared. */
  readonly inputs: Readonly<Record<string, CompiledSchema>>
  readonly outputs: Readonly<Record<string, CompiledSchema>>
}

export type Resolution =
  | { readonly kind: 'found'; readonly tool: CatalogTool }
  | {
      readonly kind: 'failed'
      readonly failure: FailureId
      readonly message: string
      readonly details: JsonObject
    }

export interface Catalog {
  put(tool: ResolvedTool): void
  /** A version that is declared and cannot be used: calls are told why instead of being sent elsewhere. */
  putBroken(namespace: string, name: string, version: string, why: string): void
  remove(namespace: string, name: string, version: string): void
  resolve(namespace: string, name: string, range: string | undefined, now: number): Resolution
  /** The very build an entry is pinned to, where it is still here. */
  pinned(namespace: string, name: string, digest: string): CatalogTool | undefined
  list(namespace: string): readonly ResolvedTool[]
}

export function createCatalog(): Catalog {
  /** namespace/name to its versions, highest first. */
  const tools = new Map<string, CatalogTool[]>()
  /** namespace/name to the versions that cannot be used, and why. */
  const broken = new Map<string, Map<string, string>>()
  const at = (namespace: string, name: string) => `${namespace}/${name}`

  return {
    put(tool) {
      const key = at(tool.namespace, tool.name)
      broken.get(key)?.delete(tool.version)
      const others = (tools.get(key) ?? []).filter((one) => one.tool.version !== tool.version)
      tools.set(
        key,
        [...others, compile(tool)].sort((a, b) => semver.rcompare(a.tool.version, b.tool.version)),
      )
    },

    putBroken(namespace, name, version, why) {
      const key = at(namespace, name)
      broken.set(key, (broken.get(key) ?? new Map()).set(version, why))
    },

    remove(namespace, name, version) {
      const key = at(namespace, name)
      broken.get(key)?.delete(version)
      const left = (tools.get(key) ?? []).filter((one) => one.tool.version !== version)
      if (left.length > 0) tools.set(key, left)
      else tools.delete(key)
    },

    resolve(namespace, name, range, now) {
      const versions = tools.get(at(namespace, name))
      const [version, why] = brokenMatch(broken.get(at(namespace, name)), range) ?? []
      if (version !== undefined && !versions?.some((one) => semver.gt(one.tool.version, version))) {
        return failed('config-invalid', `'${name}' ${version} cannot be used: ${why}`, {
          path: `${name}@${version}`,
        })
      }
      if (versions === undefined) {
        return failed('tool-unknown', `no tool '${name}' in namespace '${namespace}'`, {
          tool: name,
          namespace,
        })
      }
      const live = versions.filter(
        (one) => (one.tool.deprecation?.removedAt ?? Number.POSITIVE_INFINITY) > now,
      )
      const found = range === undefined ? newest(live) : highestMatch(live, range)
      if (found !== undefined) {
        const twin = live.find(
          (one) => one !== found && semver.compare(one.tool.version, found.tool.version) === 0,
        )
        if (twin === undefined || range === found.tool.version) return { kind: 'found', tool: found }
        const both = [found.tool.version, twin.tool.version]
        return failed('version-ambiguous', `'${name}' has two builds of one version: ${both.join(' and ')}`, {
          versions: both,
        })
      }
      const removed = range === undefined ? versions[0] : highestMatch(versions, range)
      if (removed !== undefined) {
        const replacement = removed.tool.deprecation?.replacement
        return failed('tool-removed', `'${name}' ${removed.tool.version} is past its removal date`, {
          version: removed.tool.version,
          ...(replacement === undefined ? {} : { replacement }),
        })
      }
      return failed('version-unmatched', `no live version of '${name}' matches '${range}'`, {
        range: range ?? '*',
        versions: live.map((one) => one.tool.version),
      })
    },

    pinned: (namespace, name, digest) =>
      tools.get(at(namespace, name))?.find((one) => one.tool.digest === digest),

    list: (namespace) =>
      [...tools.values()]
        .flat()
        .map((one) => one.tool)
        .filter((tool) => tool.namespace === namespace),
  }
}

/** Without a range: the highest release, else the highest pre-release. */
function newest(versions: readonly CatalogTool[]): CatalogTool | undefined {
  return versions.find((one) => semver.prerelease(one.tool.version) === null) ?? versions[0]
}

function highestMatch(versions: readonly CatalogTool[], range: string): CatalogTool | undefined {
  return versions.find((one) => one.tool.version === range || semver.satisfies(one.tool.version, range))
}

/** A broken version stands in the way only of those who would have got it. */
function brokenMatch(versions: ReadonlyMap<string, string> | undefined, range: string | undefined) {
  if (versions === undefined) return undefined
  return [...versions]
    .sort(([a], [b]) => semver.rcompare(a, b))
    .find(([version]) => range === undefined || version === range || semver.satisfies(version, range))
}

function failed(failure: FailureId, message: string, details: JsonObject): Resolution {
  return { kind: 'failed', failure, message, details }
}

function compile(tool: ResolvedTool): CatalogTool {
  const inputs: Record<string, CompiledSchema> = {}
  const outputs: Record<string, CompiledSchema> = {}
  for (const operation of Object.values(tool.operations)) {
    if (operation.inputSchema) inputs[operation.name] = compileSchema(operation.inputSchema, { closed: true })
    if (operation.outputSchema) outputs[operation.name] = compileSchema(operation.outputSchema)
  }
  return Object.freeze({ tool, inputs, outputs })
}
