// Options that nobody reads: a slip in a name would otherwise be an option that is silently not set.
import { didYouMean } from './did-you-mean.ts'

/** Every option of `T` by name. A type that gains one no longer fits until it is named here as well. */
export type KnownOptions<T> = Readonly<Record<keyof T & string, true>>

/** Throws for an option that is not known, naming the one that was probably meant. */
export function refuseUnknownOptions<T extends object>(
  what: string,
  options: T,
  known: KnownOptions<NoInfer<T>>,
): void {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(
      `${what} takes an object of options, not ${options === null ? 'null' : typeof options}`,
    )
  }
  const unknown = Object.keys(options).filter((name) => !Object.hasOwn(known, name))
  if (unknown.length > 0) {
    throw new TypeError(unknown.map((name) => sentence(what, name, Object.keys(known))).join('\n'))
  }
}

function sentence(what: string, name: string, known: readonly string[]): string {
  const close = didYouMean(name, known)
  const fix = close === undefined ? `it takes ${known.join(', ')}` : `did you mean '${close}'?`
  return `${what} has no option '${name}': ${fix}`
}
