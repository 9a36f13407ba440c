/** Runs the built program, or its sources, as a shell would. Also runs third-party programs. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { join } from 'node:path'
import { ensureStoreTemplate } from '../../scripts/ensure-template.mjs'

const ROOT = join(import.meta.dirname, '../..')

export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A started program. `result` resolves when it has ended and all its output has been read. */
export interface RunningCommand {
  readonly child: ChildProcessWithoutNullStreams
  readonly result: Promise<CommandResult>
  /** Resolves to the first complete stdout line accepted by `wanted`. Rejects when the program ends without one. */
  line(wanted: (line: string) => boolean): Promise<string>
  /** The same for stderr. */
  errorLine(wanted: (line: string) => boolean): Promise<string>
  /** The output so far. */
  stdout(): string
  stderr(): string
}

export interface CommandOptions {
  readonly cwd?: string
  readonly environment?: Readonly<Record<string, string>>
  /** Runs the program built into dist, even if it may be outdated. */
  readonly isBuilt?: boolean
}

/** Whether `npm test` has built the sources for this run: the built program starts in a third of the time. */
export const wasBuiltForThisRun = process.env.TESTS_ARE_BUILT === '1'

/**
 * Node options for every process that opens an embedded store for seconds only: its WebAssembly is compiled once and
 * quickly, instead of optimised during the first statements, which is most of such a store's cost.
 */
export const FAST_STORE_STARTS = ['--liftoff-only']

export function startCommand(args: readonly string[], options: CommandOptions = {}): RunningCommand {
  const isBuilt = options.isBuilt ?? wasBuiltForThisRun
  // A program run from the sources may open a new store, which takes thirty times as long without the template.
  if (!isBuilt) ensureStoreTemplate()
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('TIDEGATE_'))
  const program = isBuilt
    ? [join(ROOT, 'dist/main.js')]
    : ['--import', import.meta.resolve('tsx'), join(ROOT, 'src/main.ts')]
  return startProgram(process.execPath, [...FAST_STORE_STARTS, ...program, ...args], {
    cwd: options.cwd ?? ROOT,
    env: { ...Object.fromEntries(inherited), ...options.environment },
  })
}

export function startProgram(
  file: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): RunningCommand {
  const child = spawn(file, args, options)
  let stdout = ''
  let stderr = ''
  const waiting = new Set<() => void>()
  child.stdout.on('data', (chunk) => {
    stdout += chunk
    for (const check of waiting) check()
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
    for (const check of waiting) check()
  })
  const result = new Promise<CommandResult>((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
  const lineOf = (read: () => string, wanted: (line: string) => boolean): Promise<string> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const found = read().split('\n').slice(0, -1).find(wanted)
        if (found === undefined) return
        waiting.delete(check)
        resolve(found)
      }
      waiting.add(check)
      check()
      void result.then(({ code }) => reject(new Error(`ended with ${code}; stdout: ${stdout}; stderr: ${stderr}`)))
    })
  return {
    child,
    result,
    line: (wanted) => lineOf(() => stdout, wanted),
    errorLine: (wanted) => lineOf(() => stderr, wanted),
    stdout: () => stdout,
    stderr: () => stderr,
  }
}

export function runCommand(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const running = startCommand(args, options)
  running.child.stdin.end()
  return running.result
}
