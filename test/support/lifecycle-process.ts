/** Starts `lifecycle-child.ts`, or another script, as a process, writes to it and waits for its reports. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { scriptArguments } from './test-scripts.ts'

const children: ChildProcessWithoutNullStreams[] = []

/** Must be called after each test that starts one. */
export function killLifecycleChildren(): void {
  for (const child of children.splice(0)) child.kill('SIGKILL')
}

interface ChildOptions {
  /** The name of a script in this folder. */
  readonly script?: string
  /** The script's arguments. */
  readonly args?: readonly string[]
  /** Variables in addition to those of this process. */
  readonly environment?: Readonly<Record<string, string>>
}

/**
 * A started process: `tell` writes a line, `heard` resolves when the process has written one, `exit` when it has ended.
 */
export function startLifecycleChild({ script = 'lifecycle-child.ts', args = [], environment = {} }: ChildOptions = {}) {
  const program = [...scriptArguments(join(import.meta.dirname, script)), ...args]
  const child = spawn(process.execPath, program, { env: { ...process.env, ...environment } })
  children.push(child)
  const lines: string[] = []
  const waiting = new Set<() => void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    for (const check of waiting) check()
  })
  let log = ''
  child.stderr.on('data', (chunk) => {
    log += chunk
  })
  const exit = new Promise<{ code: number | null; signal: NodeJS.Signals | null; log: string }>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, log }))
  })
  return {
    lines,
    exit,
    log: () => log,
    signal: (name: NodeJS.Signals) => child.kill(name),
    tell: (line: string) => child.stdin.write(`${line}\n`),
    /** Resolves when the line has been written this many times, or rejects when the process ended before. */
    async heard(line: string, times = 1) {
      const isHeard = () => lines.filter((each) => each === line).length >= times
      if (isHeard()) return
      const ended = exit.then(({ code, log: text }) => {
        if (!isHeard()) throw new Error(`ended with ${code} before '${line}': ${text}`)
      })
      const heard = new Promise<void>((resolve) => waiting.add(() => isHeard() && resolve()))
      await Promise.race([heard, ended])
    },
  }
}

export async function startRunningChild(options: ChildOptions = {}) {
  const child = startLifecycleChild(options)
  await child.heard('starting')
  child.tell('start')
  await child.heard('running')
  return child
}
