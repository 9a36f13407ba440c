/**
 * The methods for each path, collected from the routes as they are declared, so a wrong method on an existing path is
 * 405 with `Allow` and not 404. Pure.
 */
interface Route {
  readonly segments: readonly string[]
  readonly methods: readonly string[]
}

export class RouteMethods {
  /** By the number of segments. */
  readonly #routes = new Map<number, Route[]>()

  /** @param pattern path whose segments are literal or `:name` */
  add(pattern: string, methods: string | readonly string[]): void {
    const segments = segmentsOf(pattern)
    const routes = this.#routes.get(segments.length) ?? []
    this.#routes.set(segments.length, routes)
    routes.push({ segments, methods: typeof methods === 'string' ? [methods] : methods })
  }

  /** Whether the path in `url` exists. */
  has(url: string): boolean {
    const segments = segmentsOf(url.split('?', 1)[0] as string)
    return this.#routesLike(segments).some((route) => matches(route, segments))
  }

  /** The methods for the path in `url`, sorted. Empty when the path does not exist. */
  at(url: string): string[] {
    const segments = segmentsOf(url.split('?', 1)[0] as string)
    const routes = this.#routesLike(segments).filter((route) => matches(route, segments))
    return [...new Set(routes.flatMap(({ methods }) => methods))].sort()
  }

  #routesLike({ length }: readonly string[]): readonly Route[] {
    return this.#routes.get(length) ?? []
  }
}

function segmentsOf(path: string): string[] {
  return path.split('/')
}

function matches(route: Route, segments: readonly string[]): boolean {
  return route.segments.every((expected, index) =>
    expected.startsWith(':') ? segments[index] !== '' : expected === segments[index],
  )
}
