// Why a template cannot be parsed or rendered. Thrown inside, and made an answer by the front.

export class TemplateFault extends Error {
  override readonly name = 'TemplateFault'
  /** Where in the template, in UTF-16 units. */
  readonly at: number | undefined

  constructor(message: string, at?: number) {
    super(message)
    this.at = at
  }
}

export interface TextPlace {
  /** Both count from 1, columns in characters. */
  readonly line: number
  readonly column: number
}

export function placeOf(text: string, at: number): TextPlace {
  const before = text.slice(0, at)
  const lineStart = before.lastIndexOf('\n') + 1
  return { line: before.split('\n').length, column: [...before.slice(lineStart)].length + 1 }
}
