// The parts that a template is made of, once it is parsed.
import type { Value } from './go-value.ts'

interface Placed {
  /** Where it begins in the template, in UTF-16 units. */
  readonly at: number
}

export type Operand = Placed &
  (
    | { readonly kind: 'dot' | 'nil' }
    | { readonly kind: 'constant'; readonly value: Value }
    /** A whole number that Go can read, but that no `int` can hold. */
    | { readonly kind: 'too-large'; readonly text: string }
    | { readonly kind: 'field'; readonly path: readonly string[] }
    | { readonly kind: 'variable'; readonly name: string; readonly path: readonly string[] }
    | { readonly kind: 'function'; readonly name: string }
    | { readonly kind: 'chain'; readonly base: Operand; readonly path: readonly string[] }
    | Pipeline
  )

/** The first is what is run, the others are what it is given. */
export interface Command extends Placed {
  readonly first: Operand
  readonly rest: readonly Operand[]
}

export interface Pipeline extends Placed {
  readonly kind: 'pipeline'
  /** The variables that the value is put into. */
  readonly names: readonly string[]
  /** `=`, not `:=`. */
  readonly isAssignment: boolean
  readonly commands: readonly Command[]
}

export type Branch = Placed & {
  readonly kind: 'if' | 'with' | 'range'
  readonly pipeline: Pipeline
  readonly body: readonly Node[]
  readonly otherwise: readonly Node[]
}

export type Node = Placed &
  (
    | { readonly kind: 'text'; readonly bytes: string }
    | { readonly kind: 'action'; readonly pipeline: Pipeline }
    | { readonly kind: 'break' | 'continue' }
    | Branch
  )
