/** The deterministic simulator, to run tenure's own code, or a scenario of one's own, under every fault a seed draws. */
export * from './sim/index.js';
