// The simulator with one safety rule taken out of the product, beside the whole one and others in the same process: what
// depends on a mutated file is loaded anew under an address of its own, the rest is shared. No module has state.
import { readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { mutated } from './mutate.ts'
import type { Mutation } from './mutation/mutation.ts'
import type { createSimulator, Simulator } from './simulate.ts'

const ROOT = new URL('../../', import.meta.url).href
const SIMULATE = new URL('simulate.ts', import.meta.url).href
const MARK = '?mutant='

interface Mutant {
  readonly mutation: Mutation
  /** Addresses of what is loaded anew. */
  readonly fresh: ReadonlySet<string>
  /** Files whose mutated text was loaded. */
  readonly loaded: Set<string>
}

export interface Mutants {
  /** The simulator without the rule; the whole one where none is named. */
  simulatorOf(mutation?: Mutation): Promise<Simulator>
}

/** Call it before anything of the product is imported: it has to see who imports what. */
export function createMutants(): Mutants {
  const importers = new Map<string, Set<string>>()
  const mutants = new Map<string, Mutant>()
  /** Without types: most files are loaded by most mutants. */
  const erased = new Map<string, string>()

  registerHooks({
    resolve(specifier, context, nextResolve) {
      const found = nextResolve(specifier, context)
      const parent = context.parentURL
      if (parent === undefined || !isOurs(found.url) || found.url.includes(MARK)) return found
      const mutant = mutants.get(nameIn(parent))
      if (mutant === undefined) {
        importers.set(found.url, (importers.get(found.url) ?? new Set()).add(parent))
        return found
      }
      const url = `${found.url}${MARK}${mutant.mutation.name}`
      return mutant.fresh.has(found.url) ? { ...found, url } : found
    },
    load(url, context, nextLoad) {
      const mutant = mutants.get(nameIn(url))
      if (mutant === undefined) return nextLoad(url, context)
      const [address = ''] = url.split(MARK)
      const file = address.slice(ROOT.length)
      if (mutant.mutation.edits.some((edit) => edit.file === file)) {
        mutant.loaded.add(file)
        const text = mutated(mutant.mutation, file, readFileSync(new URL(address), 'utf8'))
        return { format: 'module', source: stripTypeScriptTypes(text), shortCircuit: true }
      }
      const source = erased.get(address) ?? stripTypeScriptTypes(readFileSync(new URL(address), 'utf8'))
      erased.set(address, source)
      return { format: 'module', source, shortCircuit: true }
    },
  })

  const load = async (url: string): Promise<Simulator> => {
    const module = (await import(url)) as { readonly createSimulator: typeof createSimulator }
    return module.createSimulator()
  }
  const whole = load(SIMULATE)

  return {
    async simulatorOf(mutation) {
      const simulate = await whole
      if (mutation === undefined) return simulate
      const edited = mutation.edits.map(({ file }) => `${ROOT}${file}`)
      const mutant = { mutation, fresh: dependentsOf(edited, importers), loaded: new Set<string>() }
      mutants.set(mutation.name, mutant)
      const mutatedSimulate = await load(`${SIMULATE}${MARK}${mutation.name}`)
      const missed = mutation.edits.filter(({ file }) => !mutant.loaded.has(file))
      if (missed.length > 0) {
        throw new Error(
          `mutation ${mutation.name} is of no use: the simulator does not load ${missed.map(({ file }) => file).join(', ')}`,
        )
      }
      return mutatedSimulate
    },
  }
}

function isOurs(url: string): boolean {
  return url.startsWith(ROOT) && !url.includes('/node_modules/')
}

function nameIn(url: string): string {
  return url.split(MARK)[1] ?? ''
}

/** These modules and all that import one of them, through however many others. */
function dependentsOf(
  urls: readonly string[],
  importers: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlySet<string> {
  const found = new Set(urls)
  for (const url of found) for (const importer of importers.get(url) ?? []) found.add(importer)
  return found
}
