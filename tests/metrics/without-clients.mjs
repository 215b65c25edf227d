/** What somebody sees who has installed neither client. Run from a folder in which nothing but tenure is installed. */
import { register } from 'node:module';

register(process.argv[2] ?? '', import.meta.url);
/** @param {string} entry */
const load = (entry) => import(new URL(`./src/${entry}.ts`, import.meta.url).href);
const { prometheusMetrics } = await load('prometheus');
const { inMessageSpan, otelMetrics, otelSpans } = await load('otel');
console.log('imported');
for (const call of [prometheusMetrics, otelMetrics, otelSpans])
  try {
    call();
  } catch (/** @type {any} */ error) {
    console.log(`${error.name} ${error.code}: ${error.message}`);
  }
const registry = { registerMetric() {}, removeSingleMetric() {}, getSingleMetric() {} };
prometheusMetrics({ register: registry }).close();
console.log('a registry of their own will do');
console.log(inMessageSpan(() => 'handled')({}, {}));
