/** Starts a process from one of the program's files, compiled or as source. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The descriptor of the pipe between the two processes, in the child. */
export const PIPE_DESCRIPTOR = 4

/**
 * The child has a channel for messages, a pipe for bytes in both directions, and the stderr of this process.
 * @param file the process's file, without its extension
 * @param base `import.meta.url` of the caller, whose extension the file has too
 */
export function startProcess(file: string, base: string): ChildProcess {
  const isSource = base.endsWith('.ts')
  const path = fileURLToPath(new URL(`${file}${isSource ? '.ts' : '.js'}`, base))
  return fork(path, [], {
    // Maps, buffers and big integers pass as they are.
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'],
    execArgv: isSource ? ['--import', 'tsx'] : process.execArgv.filter((flag) => !flag.startsWith('--inspect')),
  })
}
