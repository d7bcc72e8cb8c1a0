// Prints one value by one verb, as Go's fmt does: lists and maps item by item, and what does not fit as %!d(string=hi).
import type { TextBuilder } from './budget.ts'
import { TemplateFault } from './fault.ts'
import { formatBasic, formatText } from './format-basic.ts'
import { type FormatFlags, PLAIN, pad } from './format-flags.ts'
import { fromJson, itemAt, LITERAL, sortedEntries, stringValue, typeName, type Value } from './go-value.ts'

/** Deeper than anything that arrives; the recursion must not use up the stack. */
const MAX_DEPTH = 500

/** A byte string for the verb: one character. `literal` says whether the flags are from the template. */
export function printValue(
  out: TextBuilder,
  value: Value,
  verb: string,
  flags: FormatFlags,
  literal: number = LITERAL,
): void {
  // Padding and zeros are bounded before they are made.
  const isText = value.kind === 'string'
  const made = Math.max(flags.width ?? 0, isText ? 0 : (flags.precision ?? 0))
  out.budget.spendText(made, made)
  const own = Math.min(literal, value.literal)
  if (value.kind === 'none' || value.kind === 'nil') {
    out.add(verb === 'v' || verb === 'T' ? pad('<nil>', flags) : `%!${verb}(<nil>)`, own)
    return
  }
  if (verb === 'T') {
    out.add(formatText(typeName(value), 's', flags) ?? '', own)
    return
  }
  const isComposite = value.kind === 'map' || value.kind === 'slice'
  if (isComposite && verb === 'p') {
    throw new TemplateFault('%p prints an address in memory, which means nothing here. Fix: use %v')
  }
  // Text that is printed as it is keeps its own beginning.
  const isPlain = flags === PLAIN && verb === 'v'
  const traced = own === LITERAL || (isPlain && isText) ? own : 0
  if (isComposite && verb === 'w') printBadVerb(out, value, verb, flags, traced)
  else print(out, value, verb, flags, traced, 0)
}

function print(
  out: TextBuilder,
  value: Value,
  verb: string,
  flags: FormatFlags,
  literal: number,
  depth: number,
): void {
  out.budget.spend(1)
  if (depth > MAX_DEPTH) throw new TemplateFault(`prints a value of more than ${MAX_DEPTH} levels`)
  switch (value.kind) {
    case 'none':
    case 'nil':
      out.add(flags.isGoSyntax ? 'interface {}(nil)' : '<nil>', literal)
      return
    case 'slice': {
      out.add(flags.isGoSyntax ? `${typeName(value)}{` : '[', literal)
      for (let at = 0; at < value.length; at++) {
        if (at > 0) out.add(flags.isGoSyntax ? ', ' : ' ', literal)
        print(out, itemAt(value, at), verb, flags, literal, depth + 1)
      }
      out.add(flags.isGoSyntax ? '}' : ']', literal)
      return
    }
    case 'map': {
      out.add(flags.isGoSyntax ? `${typeName(value)}{` : 'map[', literal)
      let separator = ''
      for (const { key, json } of sortedEntries(value.fields)) {
        out.add(separator, literal)
        print(out, stringValue(key, 0), verb, flags, literal, depth + 1)
        out.add(':', literal)
        print(out, fromJson(json), verb, flags, literal, depth + 1)
        separator = flags.isGoSyntax ? ', ' : ' '
      }
      out.add(flags.isGoSyntax ? '}' : ']', literal)
      return
    }
    default: {
      const text = formatBasic(value, verb, flags)
      if (text === undefined) printBadVerb(out, value, verb, flags, literal)
      else out.add(text, literal)
    }
  }
}

function printBadVerb(
  out: TextBuilder,
  value: Value,
  verb: string,
  flags: FormatFlags,
  literal: number,
): void {
  out.add(`%!${verb}(${typeName(value)}=`, literal)
  print(out, value, 'v', flags, literal, 0)
  out.add(')', literal)
}

/** Go's Print: a space between two neighbours that are both no text. */
export function printAll(out: TextBuilder, values: readonly Value[]): void {
  let wasText = true
  for (const value of values) {
    const isText = value.kind === 'string'
    if (!isText && !wasText) out.add(' ', LITERAL)
    printValue(out, value, 'v', PLAIN)
    wasText = isText
  }
}

/** Go's Println: a space between all, and the end of the line. */
export function printLine(out: TextBuilder, values: readonly Value[]): void {
  for (const [at, value] of values.entries()) {
    if (at > 0) out.add(' ', LITERAL)
    printValue(out, value, 'v', PLAIN)
  }
  out.add('\n', LITERAL)
}
