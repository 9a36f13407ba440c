/** Style sheets are imported for their effect, and the bundler joins them. */
declare module '*.css'
