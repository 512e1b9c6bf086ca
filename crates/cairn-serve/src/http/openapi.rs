//! The document of the interface, made from the types. Knows no server.

use super::routes::{carry, look, steer, watched, workers};
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Cairn server",
        description = "Hands out the tasks of a workflow to workers that come and go. Every answer that changes \
            something is on the disk before it is given. Routes are tagged with the token that they need; the admin's \
            token opens all of them.",
        version = "1",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    paths(
        workers::join,
        workers::exchange,
        workers::lease,
        workers::give_back,
        workers::heartbeat,
        workers::leave,
        carry::inputs,
        carry::stored,
        carry::upload,
        carry::download,
        carry::write_log,
        carry::read_log,
        look::status,
        look::metrics,
        look::task,
        look::export,
        look::document,
        watched::events,
        watched::attempts,
        watched::names,
        watched::why,
        watched::report,
        steer::cancel,
        steer::retry,
        steer::pause,
        steer::resume,
    )
)]
struct Document;

/// The document, as JSON.
pub(crate) fn document() -> String {
    let mut document = Document::openapi();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    let components = document.components.get_or_insert_default();
    components.add_security_scheme("token", SecurityScheme::Http(bearer));
    document.security = Some(vec![SecurityRequirement::new(
        "token",
        Vec::<String>::new(),
    )]);
    document.to_json().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types of one name would be one in the document.
    #[test]
    fn why_a_task_waits_and_why_an_attempt_failed_are_two() {
        let document: serde_json::Value = serde_json::from_str(&document()).unwrap();
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["Why"]["type"], "object");
        assert_eq!(schemas["WhyFailed"]["type"], "string");
    }
}
