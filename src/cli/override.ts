/**
 * `target` with some of its methods replaced. All others run on `target` itself, private fields included, so a wrapper
 * names only what it changes.
 */
export function override<Target extends object>(target: Target, methods: Partial<Target>): Target {
  return new Proxy(target, {
    get(_target, key) {
      if (Object.hasOwn(methods, key)) return methods[key as keyof Target];
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
