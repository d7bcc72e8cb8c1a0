// Runs a development tool of the project as a child process, with the Node that runs this one.
import { spawn } from 'node:child_process'
import { ROOT } from './repo-files.ts'

export interface ToolResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** `args[0]` is a script; the rest are its arguments. */
export function runTool(
  args: readonly string[],
  options: { readonly cwd?: string } = {},
): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...args], {
      cwd: options.cwd ?? ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
    })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      stdout += part
    })
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      stderr += part
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (signal !== null) stderr += `\nended by ${signal}\n`
      resolve({ code: code ?? 1, stdout, stderr })
    })
  })
}
