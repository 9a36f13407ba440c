/**
 * Reads a file whole, when it is one: a pipe, a device or a directory in its place is an error instead of a wait without
 * end, and so is a file that is larger than what it is read for can be.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/**
 * @throws what `node:fs` throws; an Error without a code where it is no regular file, or too large. Neither quotes the
 *   content.
 */
export function readRegularFile(path: string, bytesMax: number): Buffer {
  // Without O_NONBLOCK, opening a pipe waits until somebody writes to it.
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error('it is not a regular file')
    const content = Buffer.alloc(bytesMax + 1)
    let length = 0
    // The size that a file says it has may be none (below /proc), or change.
    for (let count = -1; count !== 0 && length <= bytesMax; length += count) {
      count = readSync(descriptor, content, length, content.length - length, null)
    }
    if (length > bytesMax) throw new Error(`it is larger than ${bytesMax} bytes`)
    return content.subarray(0, length)
  } finally {
    closeSync(descriptor)
  }
}

/** Why a file could not be read: the code of the system, or what is wrong with it. */
export function fileErrorText(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message
}
