// What every part of resolving a tool works with.

import type { FailureId } from '../contract/failures.ts'
import { DAY_MS, type DurationBounds, readDuration } from './bounded-duration.ts'
import { createFindings, type Findings, formatPath, type Path } from './problem.ts'
import type { ResolvedTool, ToolType } from './resolved-tool.ts'
import type { ToolManifest, ToolSpec } from './tool.ts'

export interface ResolveOptions {
  readonly profile: 'local' | 'production'
  /** S21: what an undeclared effect counts as. */
  readonly effectDefault: 'declared' | 'from-risk'
  /** Of the artifact that was fetched, where one was. */
  readonly artifactDigest?: string
  /** Declared by a program, not by a manifest: type native (S55). */
  readonly native?: boolean
  /** Made from an McpServer, where type mcp is no mistake (S46). */
  readonly generated?: boolean
  /** Commands that may run on this host: what `cli_allow` lists. @default none */
  readonly hostCommands?: readonly string[]
}

export type Unenforced = ResolvedTool['unenforced'][number]

export interface ResolveContext {
  readonly manifest: ToolManifest
  readonly spec: ToolSpec
  readonly options: ResolveOptions
  readonly type: ToolType
  readonly findings: Findings
  readonly unenforced: readonly Unenforced[]
  /** S33: a declared control that this build cannot enforce. Apply warns, calls are refused. */
  refuseCalls(path: Path, why: string, fix: string, failure?: FailureId): void
  /** Milliseconds, whole; undefined, with an error, for text that is no duration or out of bounds. */
  duration(path: Path, text: string | undefined, bounds: DurationBounds): number | undefined
}

export const TIMEOUT_BOUNDS: DurationBounds = Object.freeze({ min: 1, max: 30 * DAY_MS })
export const PAUSE_BOUNDS: DurationBounds = Object.freeze({ min: 0, max: DAY_MS })
/** A key's tombstone is kept as long (S18): nothing can be recognised after that. */
export const MEMORY_BOUNDS: DurationBounds = Object.freeze({ min: 1, max: 400 * DAY_MS })

export function createResolveContext(manifest: ToolManifest, options: ResolveOptions): ResolveContext {
  const findings = createFindings()
  const unenforced: Unenforced[] = []
  return {
    manifest,
    spec: manifest.spec,
    options,
    type: options.native === true ? 'native' : (manifest.spec.type ?? 'http'),
    findings,
    unenforced,

    refuseCalls(path, why, fix, failure = 'control-unavailable') {
      const place = formatPath(path)
      // Operations share blocks of the tool, and each of them comes by here.
      if (!unenforced.some((one) => one.path === place)) unenforced.push({ path: place, why, fix, failure })
      findings.warn(path, `${why}; calls are refused`, fix)
    },

    duration: (path, text, bounds) => readDuration(findings, path, text, bounds),
  }
}
