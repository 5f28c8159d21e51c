//! What one decision costs: home able, one step of fallback, everything down; three regions and ten.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use waypost::region::{AllDown, HealthTable, RegionId, Regions, Standing, decide, route};

fn table(count: usize, standings: &[(usize, Standing)], rest: Standing) -> HealthTable {
    let mut table = HealthTable::new(count, rest);
    for &(region, standing) in standings {
        if let Some(region) = RegionId::new(region) {
            table.set_for_all(region, standing);
        }
    }
    table
}

fn routes(criterion: &mut Criterion) {
    for count in [3, 10] {
        let mut group = criterion.benchmark_group(format!("route/{count} regions"));
        let Ok(regions) = Regions::new((0..count).map(|number| format!("region-{number}"))) else { continue };
        let Some(home) = RegionId::new(count - 1) else { continue };
        let name = regions.name(home).to_owned();
        let cases = [
            ("home", table(count, &[], Standing::Healthy)),
            ("fallback", table(count, &[(count - 1, Standing::Failed)], Standing::Healthy)),
            ("degraded", table(count, &[(count - 1, Standing::Failed)], Standing::Degraded)),
            ("fail-open", table(count, &[], Standing::Failed)),
        ];
        for (case, table) in &cases {
            group.bench_function(format!("decide/{case}"), |bencher| {
                bencher.iter(|| decide(black_box(home), black_box(table), AllDown::Home));
            });
        }
        group.bench_function("route/by name", |bencher| {
            bencher.iter(|| route(black_box(&name), &regions, black_box(&cases[1].1)));
        });
    }
}

criterion_group!(benches, routes);
criterion_main!(benches);
