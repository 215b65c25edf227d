/** Those that a supervisor or a person sends to a program, and that its program would get without us. */
export const passedSignals = [
  'SIGTERM',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
] as const satisfies NodeJS.Signals[];

export type PassedSignal = (typeof passedSignals)[number];
