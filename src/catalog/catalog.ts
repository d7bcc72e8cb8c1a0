// The live tools: versions, pins and compiled schemas. Filled at apply, read on every call.
import semver from 'semver'
import type { FailureId } from '../contract/failures.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import type { Json, JsonObject } from '../util/json.ts'
import { type CompiledSchema, compileSchema } from '../util/json-schema.ts'
import { createWriteOnlyMask } from '../util/write-only.ts'

/** A resolved tool with what a call needs of it ready to run. */
export interface CatalogTool {
  readonly tool: ResolvedTool
  /** By operation; absent where no schema was declared. */
  readonly inputs: ReadonlyMap<string, CompiledSchema>
  readonly outputs: ReadonlyMap<string, CompiledSchema>
  /** Shows an input with its `writeOnly` fields masked (S5). */
  readonly masks: ReadonlyMap<string, (input: Json) => Json>
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
  /** The highest version, whatever its dates: what a permission is asked about when no version can be told. */
  highest(namespace: string, name: string): ResolvedTool | undefined
  /** The very build an entry is pinned to, where it is still here. */
  pinned(namespace: string, name: string, digest: string): CatalogTool | undefined
  /**
   * The same, also where it was replaced or deleted since: for what an effect that is under way still needs of it, to be
   * asked about, committed, rolled back or undone. Nothing new is begun with it.
   */
  kept(namespace: string, name: string, digest: string): CatalogTool | undefined
  /** A build that is no longer live. */
  keep(tool: ResolvedTool): void
  list(namespace: string): readonly ResolvedTool[]
}

/** Ranges of one tool that are remembered: callers write them, so there must be an end to it. */
const MAX_RANGES = 100

export function createCatalog(): Catalog {
  /** namespace/name to its versions, highest first. */
  const tools = new Map<string, CatalogTool[]>()
  /** namespace/name to the versions that cannot be used, and why. */
  const broken = new Map<string, Map<string, string>>()
  /** namespace/name to what a range of it was last resolved to. */
  const resolved = new Map<string, Map<string, Resolution>>()
  /** namespace/name to builds that are no longer live, by digest. */
  const old = new Map<string, Map<string, CatalogTool>>()
  const at = (namespace: string, name: string) => `${namespace}/${name}`

  function keep(key: string, one: CatalogTool): void {
    const builds = old.get(key) ?? new Map<string, CatalogTool>()
    old.set(key, builds.set(one.tool.digest, one))
  }

  /** The versions without one, which is kept where it is another build than `next`. */
  function without(key: string, version: string, next?: ResolvedTool): CatalogTool[] {
    const versions = tools.get(key) ?? []
    const replaced = versions.find((one) => one.tool.version === version)
    if (replaced !== undefined && replaced.tool.digest !== next?.digest) keep(key, replaced)
    return versions.filter((one) => one !== replaced)
  }

  const pinned = (namespace: string, name: string, digest: string) =>
    tools.get(at(namespace, name))?.find((one) => one.tool.digest === digest)

  function find(
    key: string,
    name: string,
    namespace: string,
    range: string | undefined,
    now: number,
  ): Resolution {
    const versions = tools.get(key) ?? []
    const unusable = broken.get(key) ?? new Map<string, string>()
    if (versions.length === 0 && unusable.size === 0) {
      return failed('tool-unknown', `no tool '${name}' in namespace '${namespace}'`, {
        tool: name,
        namespace,
      })
    }
    const live = versions.filter((one) => (one.tool.deprecation?.removedAt ?? Number.POSITIVE_INFINITY) > now)
    const usable = new Map(live.map((one) => [one.tool.version, one]))
    // A version that cannot be used stands in the way of whoever would have got it: nobody is sent elsewhere instead.
    const chosen = choose([...usable.keys(), ...unusable.keys()], range)
    if (chosen !== undefined) {
      const why = unusable.get(chosen)
      if (why !== undefined) {
        return failed('config-invalid', `'${name}' ${chosen} cannot be used: ${why}`, {
          path: `${name}@${chosen}`,
        })
      }
      const twin = live.find(
        (one) => one.tool.version !== chosen && semver.compare(one.tool.version, chosen) === 0,
      )
      if (twin !== undefined && range !== chosen) {
        const both = [chosen, twin.tool.version]
        return failed('version-ambiguous', `'${name}' has two builds of one version: ${both.join(' and ')}`, {
          versions: both,
        })
      }
      const found = usable.get(chosen)
      if (found !== undefined) return { kind: 'found', tool: found }
    }
    const past = choose(
      versions.map((one) => one.tool.version),
      range,
    )
    const removed = versions.find((one) => one.tool.version === past)
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
  }

  return {
    put(tool) {
      const key = at(tool.namespace, tool.name)
      broken.get(key)?.delete(tool.version)
      resolved.delete(key)
      const others = without(key, tool.version, tool)
      tools.set(
        key,
        [...others, compile(tool)].sort((a, b) => semver.rcompare(a.tool.version, b.tool.version)),
      )
    },

    putBroken(namespace, name, version, why) {
      const key = at(namespace, name)
      resolved.delete(key)
      broken.set(key, (broken.get(key) ?? new Map()).set(version, why))
    },

    remove(namespace, name, version) {
      const key = at(namespace, name)
      broken.get(key)?.delete(version)
      resolved.delete(key)
      const left = without(key, version)
      if (left.length > 0) tools.set(key, left)
      else tools.delete(key)
    },

    resolve(namespace, name, range, now) {
      const key = at(namespace, name)
      const known = resolved.get(key)?.get(range ?? '')
      if (known !== undefined) return known
      const found = find(key, name, namespace, range, now)
      // Only what no date can change is kept; the first change of any of its versions forgets it.
      const versions = tools.get(key)
      if (found.kind === 'found' && !versions?.some((one) => one.tool.deprecation?.removedAt !== undefined)) {
        const ranges = resolved.get(key) ?? new Map<string, Resolution>()
        if (ranges.size < MAX_RANGES) resolved.set(key, ranges.set(range ?? '', found))
      }
      return found
    },

    highest: (namespace, name) => tools.get(at(namespace, name))?.[0]?.tool,

    pinned,
    kept: (namespace, name, digest) =>
      pinned(namespace, name, digest) ?? old.get(at(namespace, name))?.get(digest),
    keep: (tool) => keep(at(tool.namespace, tool.name), compile(tool)),

    list: (namespace) =>
      [...tools.values()]
        .flat()
        .map((one) => one.tool)
        .filter((tool) => tool.namespace === namespace),
  }
}

/** The one that is named, else the highest that matches; without a range the highest release, else the highest of all. */
function choose(versions: readonly string[], range: string | undefined): string | undefined {
  if (range !== undefined && versions.includes(range)) return range
  const highestFirst = versions.toSorted((a, b) => semver.rcompare(a, b))
  if (range !== undefined) return highestFirst.find((version) => semver.satisfies(version, range))
  return highestFirst.find((version) => semver.prerelease(version) === null) ?? highestFirst[0]
}

function failed(failure: FailureId, message: string, details: JsonObject): Resolution {
  return { kind: 'failed', failure, message, details }
}

function compile(tool: ResolvedTool): CatalogTool {
  const inputs = new Map<string, CompiledSchema>()
  const outputs = new Map<string, CompiledSchema>()
  const masks = new Map<string, (input: Json) => Json>()
  for (const { name, inputSchema, outputSchema } of Object.values(tool.operations)) {
    if (inputSchema) {
      inputs.set(name, compileSchema(inputSchema, { closed: true }))
      masks.set(name, createWriteOnlyMask(inputSchema))
    }
    if (outputSchema) outputs.set(name, compileSchema(outputSchema))
  }
  return Object.freeze({ tool, inputs, outputs, masks })
}
