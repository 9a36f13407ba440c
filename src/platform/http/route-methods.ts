/**
 * The methods for each path, collected from the routes as they are declared, so a wrong method on an existing path is
 * 405 with `Allow` and not 404. Pure.
 */
interface Route {
  readonly segments: readonly string[]
  readonly methods: readonly string[]
}

export class RouteMethods {
  readonly #routes: Route[] = []

  /** @param pattern path whose segments are literal or `:name` */
  add(pattern: string, methods: string | readonly string[]): void {
    this.#routes.push({ segments: segmentsOf(pattern), methods: typeof methods === 'string' ? [methods] : methods })
  }

  /** The methods for the path in `url`, sorted. Empty when the path does not exist. */
  at(url: string): string[] {
    const segments = segmentsOf(url.split('?', 1)[0] as string)
    const found = new Set(this.#routes.filter((route) => matches(route, segments)).flatMap(({ methods }) => methods))
    return [...found].sort()
  }
}

function segmentsOf(path: string): string[] {
  return path.split('/')
}

function matches(route: Route, segments: readonly string[]): boolean {
  return (
    route.segments.length === segments.length &&
    route.segments.every((expected, index) =>
      expected.startsWith(':') ? segments[index] !== '' : expected === segments[index],
    )
  )
}
