/**
 * Loading for components: one document (`useResource`) or a paginated list (`useList`). A failed reload keeps the
 * earlier content and reports the problem beside it. Repeated loading stops while the tab is hidden, and begins again as
 * soon as it is shown.
 */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { get, getPage, type Page, Problem, type Query } from './api.ts'
import type { AnswerOf, ItemOf, ListPath, PathOf } from './operator-api.ts'

export interface Resource<Document> {
  readonly document: Document | undefined
  readonly problem: Problem | undefined
  readonly isLoading: boolean
  reload(): void
}

interface ResourceState<Document> {
  readonly key: string
  readonly document?: Document | undefined
  readonly problem?: Problem | undefined
  readonly isLoading: boolean
}

/**
 * @param key identifies the document; undefined = load nothing. Another key discards the previous document.
 * @param everyMilliseconds time between two loads; absent = loaded once
 */
export function useResource<Document>(
  key: string | undefined,
  load: (signal: AbortSignal) => Promise<Document>,
  everyMilliseconds?: number,
): Resource<Document> {
  const [state, setState] = useState<ResourceState<Document>>({ key: key ?? '', isLoading: key !== undefined })
  const [round, setRound] = useState(0)
  const loadRef = useRef(load)
  loadRef.current = load
  useEffect(() => {
    if (key === undefined) return
    const abort = new AbortController()
    const run = async () => {
      setState((before) => (before.key === key ? { ...before, isLoading: true } : { key, isLoading: true }))
      try {
        const loaded = await loadRef.current(abort.signal)
        if (!abort.signal.aborted) setState({ key, document: loaded, isLoading: false })
      } catch (error) {
        if (abort.signal.aborted) return
        if (!(error instanceof Problem)) throw error
        setState((before) => ({ ...(before.key === key ? before : { key }), problem: error, isLoading: false }))
      }
    }
    void run()
    if (everyMilliseconds === undefined) return () => abort.abort()
    const repeat = () => void (document.hidden || run())
    const timer = setInterval(repeat, everyMilliseconds)
    document.addEventListener('visibilitychange', repeat)
    return () => {
      abort.abort()
      clearInterval(timer)
      document.removeEventListener('visibilitychange', repeat)
    }
  }, [key, round, everyMilliseconds])
  const reload = useCallback(() => setRound((count) => count + 1), [])
  const isCurrent = state.key === (key ?? '')
  return {
    document: isCurrent ? state.document : undefined,
    problem: isCurrent ? state.problem : undefined,
    isLoading: isCurrent ? state.isLoading : key !== undefined,
    reload,
  }
}

/** A document from the operator API. */
export function useGet<Path extends PathOf<'GET'>>(
  path: Path | undefined,
  query?: Query,
  everyMilliseconds?: number,
): Resource<AnswerOf<'GET', Path>> {
  const key = path === undefined ? undefined : `${path} ${JSON.stringify(query ?? {})}`
  return useResource(key, (signal) => get(path as Path, query, signal), everyMilliseconds)
}

export interface List<Item> {
  readonly items: readonly Item[] | undefined
  readonly problem: Problem | undefined
  readonly isLoading: boolean
  readonly hasMore: boolean
  more(): void
  reload(): void
}

const PAGE_ITEMS = 50

/** A list from the operator API, which grows page by page. */
export function useList<Path extends ListPath>(path: Path, query: Query): List<ItemOf<Path>> {
  type Loaded = Page<ItemOf<Path>>
  const key = `${path} ${JSON.stringify(query)}`
  const first = useResource<Loaded>(key, (signal) => getPage(path, { limit: PAGE_ITEMS, ...query }, signal))
  const [rest, setRest] = useState<{ of: Loaded | undefined; pages: readonly Loaded[]; problem?: Problem }>({
    of: undefined,
    pages: [],
  })
  const [isLoadingMore, setLoadingMore] = useState(false)
  const pages = rest.of === first.document ? rest.pages : []
  const last = pages.at(-1) ?? first.document
  const cursor = last?.next_page_cursor
  const more = () => {
    if (cursor === undefined || isLoadingMore) return
    setLoadingMore(true)
    getPage(path, { limit: PAGE_ITEMS, ...query, page_cursor: cursor })
      .then((page) => setRest({ of: first.document, pages: [...pages, page] }))
      .catch((error: unknown) => {
        if (error instanceof Problem) setRest({ of: first.document, pages, problem: error })
        else throw error
      })
      .finally(() => setLoadingMore(false))
  }
  return {
    items: first.document === undefined ? undefined : [first.document, ...pages].flatMap(({ items }) => items),
    problem: first.problem ?? (rest.of === first.document ? rest.problem : undefined),
    isLoading: first.isLoading || isLoadingMore,
    hasMore: cursor !== undefined,
    more,
    reload: first.reload,
  }
}
