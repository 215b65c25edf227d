/** How many servers a URL leads to, and which of them grants. */
export type Shape = 'single' | 'sentinel' | 'cluster' | 'quorum';
