/** Whether a system error has this code, such as `ENOENT`. */
export function hasCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException | null | undefined)?.code === code
}
