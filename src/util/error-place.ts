// Where an error came from, for logs. Its message is left out: it may hold what a tool was given (S53).

export function errorPlace(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const frame = error.stack?.split('\n').find((line) => line.startsWith('    at '))
  return frame === undefined ? error.name : `${error.name} ${frame.trim()}`
}
