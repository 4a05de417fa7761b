// swift-tools-version: 6.2

import PackageDescription

/// What every Swift target is compiled with: the language mode, memory safety and import rules of this package.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableExperimentalFeature("Lifetimes"),
]

/// Tests may be as unsafe as a test needs to be; everything else holds for them too.
let test: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// How programs and libraries are linked: addresses that are to be relocated are packed, since they would be a tenth of the file
/// and a third of the memory that loading it takes. glibc 2.36 and later can load that.
let packed = ["-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs"]

/// How programs are linked: without exported symbols, thousands of which the loader would look through for each symbol that a library needs.
let program = packed + ["-Xlinker", "--no-export-dynamic"]

/// What makes a library that any program can load: nothing but its own symbols outside, and no unloading, since a program may keep its
/// texts and references, and another thread may be amid a call.
func loadable(_ exports: String, name: String) -> [String] {
    packed + [
        "-Xlinker", "-soname=\(name)", "-Xlinker", "--version-script=\(Context.packageDirectory)/\(exports)",
        "-Xlinker", "-z", "-Xlinker", "nodelete", "-Xlinker", "--exclude-libs=ALL", "-Xlinker", "--gc-sections",
    ]
}

/// What the libraries are compiled with that programs of any kind load: Embedded Swift, which has no runtime. It cannot import what is not compiled so,
/// and finds the sources that it shares by a symbolic link in its folder.
let embedded: [SwiftSetting] =
    strict + [
        .enableExperimentalFeature("Embedded"), .unsafeFlags(["-wmo", "-Osize", "-Xfrontend", "-function-sections"]),
    ]

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "tokenkit",
    products: [
        .library(name: "TokenKit", targets: ["TokenKit"]),
        .library(name: "PIVDriver", targets: ["PIVDriver"]),
        .library(name: "KeychainHost", targets: ["KeychainHost", "KeychainModel", "Prompters"]),
        .library(name: "HostConnection", targets: ["HostConnection", "ItemDictionaries"]),
        .library(name: "SecItem", targets: ["SecItem"]),
        .library(name: "Security", targets: ["Security"]),
        .library(name: "LocalAuthentication", targets: ["LocalAuthentication"]),
        .library(name: "CryptoTokenKit", targets: ["CryptoTokenKit"]),
        .library(name: "tokenkit-keychain", type: .dynamic, targets: ["SecKeychain"]),
        .library(name: "tokenkit-keychain-static", type: .static, targets: ["SecKeychain"]),
        .library(name: "tokenkit-pkcs11", type: .dynamic, targets: ["PKCS11Module"]),
        .executable(name: "tokenctl", targets: ["tokenctl"]),
        .executable(name: "tokenkitd", targets: ["tokenkitd"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0")
    ],
    targets: [
        // C libraries: a module map and forwarding headers each, and the few shims Swift cannot do without.
        .target(name: "CPCSC", linkerSettings: [.linkedLibrary("pcsclite")]),
        .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(name: "COpenSSL", linkerSettings: [.linkedLibrary("crypto")]),
        .target(name: "CZlib", linkerSettings: [.linkedLibrary("z")]),
        .target(name: "CLinux"),
        // Linked with nothing: libsystemd is loaded when it is needed.
        .target(name: "CSystemd"),
        // The start of the host's process, by the libraries that programs load.
        .target(name: "CHostStart"),
        .target(name: "CCryptoki"),
        .target(
            name: "CP11Kit", cSettings: [.headerSearchPath("forward")], linkerSettings: [.linkedLibrary("p11-kit")]),

        // The texts for people, and their translations.
        .target(name: "Localization", dependencies: ["CLinux"], swiftSettings: strict),
        .target(name: "SecureBytes", swiftSettings: strict),
        .target(name: "Platform", dependencies: ["CLinux", "Localization"], swiftSettings: strict),
        .target(
            name: "SystemCrypto", dependencies: ["Localization", "SecureBytes", "COpenSSL"], swiftSettings: strict),
        // The names of tokens, slots, objects and return values in PKCS #11, for those who show tokens and those who name them.
        .target(name: "CryptokiNames", dependencies: ["SecureBytes"], swiftSettings: strict),
        .target(
            name: "TokenKit",
            dependencies: ["Localization", "SecureBytes", "SystemCrypto", "CPCSC", "CryptokiNames", "Platform"],
            swiftSettings: strict),
        .target(
            name: "PIVDriver", dependencies: ["Localization", "SecureBytes", "TokenKit", "SystemCrypto", "CZlib"],
            swiftSettings: strict),
        .target(name: "PKCS11Mechanisms", dependencies: ["CCryptoki", "SystemCrypto"], swiftSettings: strict),
        // The modules of other makers, as p11-kit is configured: for the driver that loads them, and the command that names them.
        .target(name: "ModuleConfiguration", dependencies: ["CryptokiNames", "Platform"], swiftSettings: strict),
        .target(
            name: "PKCS11Driver",
            dependencies: [
                "SecureBytes", "TokenKit", "SystemCrypto", "CCryptoki", "CLinux", "CP11Kit", "CryptokiNames",
                "ModuleConfiguration", "PKCS11Mechanisms", "Platform",
            ],
            swiftSettings: strict),
        .target(
            name: "VirtualCard", dependencies: ["SecureBytes", "TokenKit", "SystemCrypto", "Platform"],
            swiftSettings: strict),
        .target(
            name: "KeychainModel", dependencies: ["Localization", "SecureBytes", "SystemCrypto"], swiftSettings: strict),
        .target(
            name: "HostAPI",
            dependencies: [
                "CryptokiNames", "KeychainModel", "Localization", "Platform", "SecureBytes", "SystemCrypto", "Wire",
            ],
            swiftSettings: strict),
        // The ways to ask a person, for hosts and their clients.
        .target(
            name: "Prompters", dependencies: ["HostAPI", "KeychainModel", "Localization", "Platform", "SecureBytes"],
            swiftSettings: strict),
        .target(
            name: "ItemDictionaries",
            dependencies: ["HostAPI", "KeychainModel", "Localization", "SecureBytes", "SystemCrypto"],
            swiftSettings: strict),
        // The functions of SecKeychain.h, for Swift programs with SecItem, and for the programs of the C library in KeychainBridge.
        .target(
            name: "KeychainCalls",
            dependencies: ["HostAPI", "KeychainModel", "Localization", "Platform", "SecureBytes"],
            swiftSettings: strict),
        .target(
            name: "KeychainStore",
            dependencies: [
                "KeychainModel", "Localization", "SecureBytes", "SystemCrypto", "CSQLite", "CLinux", "Platform",
            ],
            swiftSettings: strict),
        // The files of settings, as values: for the host that obeys them, and the command that checks them.
        .target(name: "Settings", dependencies: ["KeychainModel", "Localization", "Platform"], swiftSettings: strict),
        .target(
            name: "KeychainHost",
            dependencies: [
                "CryptokiNames", "HostAPI", "KeychainModel", "Localization", "KeychainStore", "LoginSessions",
                "SecureBytes",
                "Settings", "TokenKit",
                "SystemCrypto", "CLinux", "Platform",
            ],
            swiftSettings: strict),
        // The login sessions of the user, and notifications on the desktop, for the host.
        .target(name: "LoginSessions", dependencies: ["CSystemd", "Platform"], swiftSettings: strict),
        .target(
            name: "StandardDrivers",
            dependencies: ["CryptokiNames", "KeychainHost", "PIVDriver", "PKCS11Driver", "Platform", "TokenKit"],
            swiftSettings: strict),
        .target(
            name: "HostConnection",
            dependencies: [
                "CHostStart", "HostAPI", "KeychainModel", "Localization", "Platform", "SecureBytes", "SystemCrypto",
                "Wire",
                "WireTransport",
            ],
            swiftSettings: strict),
        .target(
            name: "SecItem",
            dependencies: [
                "HostAPI", "HostConnection", "ItemDictionaries", "KeychainCalls", "KeychainModel", "Localization",
                "Platform",
                "SecureBytes", "SystemCrypto",
            ],
            swiftSettings: strict),
        // SecItem under the names of Apple's frameworks.
        .target(name: "Security", dependencies: ["SecItem"], swiftSettings: strict),
        .target(name: "LocalAuthentication", dependencies: ["SecItem"], swiftSettings: strict),
        .target(name: "CryptoTokenKit", dependencies: ["SecItem"], swiftSettings: strict),
        .target(name: "CSecKeychain", exclude: ["tokenkit-keychain.pc.in"]),
        .target(
            name: "SecKeychain", dependencies: ["CHostStart", "CSecKeychain", "CThinClient"],
            exclude: ["exports.map"], swiftSettings: embedded,
            linkerSettings: [
                .unsafeFlags(loadable("Sources/SecKeychain/exports.map", name: "libtokenkit-keychain.so.1"))
            ]),
        .target(
            name: "PKCS11Bridge",
            dependencies: [
                "SecureBytes", "CCryptoki", "CryptokiNames", "HostAPI", "KeychainModel", "PKCS11Mechanisms",
                "SystemCrypto", "Wire",
            ],
            swiftSettings: strict),
        .target(
            name: "SSHAgent",
            dependencies: ["CryptokiNames", "HostAPI", "KeychainModel", "Platform", "SecureBytes", "SystemCrypto"],
            swiftSettings: strict),
        .target(
            name: "KeychainBridge",
            dependencies: ["HostAPI", "KeychainCalls", "KeychainModel", "Localization", "SecureBytes", "Wire"],
            swiftSettings: strict),
        .target(name: "Wire", swiftSettings: strict),
        // The ends of a connection between a client and the host, for clients in Swift and for the host.
        .target(name: "WireTransport", dependencies: ["Platform", "SecureBytes", "Wire"], swiftSettings: strict),
        .target(
            name: "HostServer",
            dependencies: [
                "SecureBytes", "CLinux", "HostAPI", "KeychainBridge", "KeychainHost", "KeychainModel", "Localization",
                "PKCS11Bridge",
                "Platform", "SSHAgent", "TokenKit",
                "Wire", "WireTransport",
            ],
            swiftSettings: strict),
        // The system calls of the libraries that programs load, and the state that these keep between calls.
        .target(name: "CThinClient", dependencies: ["CHostStart"]),
        .target(name: "CPKCS11Module", dependencies: ["CCryptoki", "CThinClient"]),
        .target(
            name: "PKCS11Module", dependencies: ["CCryptoki", "CHostStart", "CPKCS11Module", "CThinClient"],
            exclude: ["exports.map", "tokenkit.module"], swiftSettings: embedded,
            linkerSettings: [
                .unsafeFlags(loadable("Sources/PKCS11Module/exports.map", name: "libtokenkit-pkcs11.so"))
            ]),
        .executableTarget(
            name: "tokenkitd",
            dependencies: [
                "CCryptoki", "HostAPI", "HostServer", "KeychainHost", "KeychainModel", "Localization", "LoginSessions",
                "ModuleConfiguration", "PKCS11Bridge",
                "PKCS11Driver", "Platform", "Prompters", "SSHAgent", "Settings", "StandardDrivers", "TokenKit", "Wire",
            ],
            exclude: ["systemd"],
            swiftSettings: strict, linkerSettings: [.unsafeFlags(program)]),
        .executableTarget(
            name: "tokenctl",
            dependencies: [
                "SecureBytes", "TokenKit", "SystemCrypto", "VirtualCard", "HostAPI", "CryptokiNames",
                "HostConnection", "ItemDictionaries", "KeychainModel", "Localization", "ModuleConfiguration",
                "Platform", "Prompters", "SSHAgent", "Settings", argumentParser,
            ],
            swiftSettings: strict, linkerSettings: [.unsafeFlags(program)]),

        .target(
            name: "TestSupport",
            dependencies: ["HostAPI", "KeychainModel", "SecureBytes", "TokenKit", "SystemCrypto", "VirtualCard"],
            path: "Tests/TestSupport", swiftSettings: test),
        .testTarget(
            name: "LocalizationTests", dependencies: ["Localization", "TestSupport"], swiftSettings: test),
        .testTarget(name: "SecureBytesTests", dependencies: ["SecureBytes", "TestSupport"], swiftSettings: test),
        .testTarget(name: "PlatformTests", dependencies: ["Platform", "TestSupport"], swiftSettings: test),
        .testTarget(
            name: "TokenKitTests",
            dependencies: ["CryptokiNames", "SecureBytes", "TokenKit", "TestSupport", "SystemCrypto"],
            swiftSettings: test),
        .testTarget(
            name: "SSHAgentTests",
            dependencies: [
                "HostAPI", "KeychainHost", "KeychainModel", "ModuleConfiguration", "PKCS11Driver", "Platform",
                "SecureBytes", "SSHAgent",
                "SystemCrypto", "TestSupport", "TokenKit",
            ], swiftSettings: test),
        .testTarget(name: "WireTests", dependencies: ["Wire"], swiftSettings: test),
        .testTarget(
            name: "HostServerTests",
            dependencies: [
                "HostAPI", "HostServer", "KeychainHost", "KeychainModel", "Platform", "SecureBytes", "SSHAgent",
                "TestSupport", "Wire", "WireTransport",
            ], swiftSettings: test),
        .testTarget(
            name: "SystemCryptoTests", dependencies: ["SecureBytes", "SystemCrypto", "TestSupport"],
            swiftSettings: test),
        .testTarget(
            name: "VirtualCardTests",
            dependencies: ["SecureBytes", "VirtualCard", "SystemCrypto", "TestSupport", "TokenKit"], swiftSettings: test
        ),
        .testTarget(
            name: "PIVDriverTests",
            dependencies: ["SecureBytes", "PIVDriver", "VirtualCard", "SystemCrypto", "TestSupport", "TokenKit"],
            swiftSettings: test),
        .testTarget(
            name: "PKCS11DriverTests",
            dependencies: [
                "SecureBytes", "PKCS11Driver", "HostAPI", "KeychainHost", "KeychainModel", "Localization",
                "ModuleConfiguration", "SystemCrypto", "CCryptoki",
                "CryptokiNames", "Platform", "TestSupport", "tokenkitd", "TokenKit",
            ],
            swiftSettings: test),
        .testTarget(
            name: "KeychainModelTests",
            dependencies: ["KeychainModel", "Localization", "SecureBytes", "SystemCrypto", "TestSupport"],
            swiftSettings: test),
        .testTarget(
            name: "HostAPITests",
            dependencies: [
                "CryptokiNames", "HostAPI", "KeychainModel", "Localization", "SecureBytes", "SystemCrypto",
                "TestSupport", "Wire",
            ],
            swiftSettings: test),
        .testTarget(
            name: "KeychainStoreTests",
            dependencies: ["KeychainModel", "KeychainStore", "SecureBytes", "SystemCrypto", "TestSupport"],
            swiftSettings: test),
        .executableTarget(
            name: "KeychainWriter",
            dependencies: ["SecureBytes", "KeychainHost", "KeychainModel", "Localization", "SystemCrypto", "CSQLite"],
            path: "Tests/KeychainWriter", swiftSettings: test),
        .executableTarget(
            name: "PromptAsker", dependencies: ["SecureBytes", "HostAPI", "KeychainModel", "Prompters"],
            path: "Tests/PromptAsker", swiftSettings: test),
        .testTarget(
            name: "PromptersTests",
            dependencies: [
                "HostAPI", "KeychainModel", "Localization", "Platform", "PromptAsker", "Prompters", "SecureBytes",
                "TestSupport",
            ],
            swiftSettings: test),
        .testTarget(
            name: "KeychainHostTests",
            dependencies: [
                "CryptokiNames", "SecureBytes", "HostAPI", "HostConnection", "HostServer", "ItemDictionaries",
                "KeychainCalls",
                "KeychainHost", "KeychainModel", "Localization", "KeychainStore", "PIVDriver", "PKCS11Bridge",
                "VirtualCard",
                "SystemCrypto", "CSQLite", "Wire", "WireTransport",
                "TestSupport",
                "KeychainWriter", "Platform", "Settings", "TokenKit",
            ],
            swiftSettings: test),
        // A stand-in for systemd-logind, which would take over the machine.
        .executableTarget(
            name: "LogindStandIn", path: "Tests/LogindStandIn", linkerSettings: [.linkedLibrary("systemd")]),
        // A stand-in for a desktop that shows notifications.
        .executableTarget(
            name: "NotificationStandIn", path: "Tests/NotificationStandIn",
            linkerSettings: [.linkedLibrary("systemd")]),
        .testTarget(
            name: "LoginSessionsTests",
            dependencies: ["LogindStandIn", "LoginSessions", "NotificationStandIn", "TestSupport"],
            swiftSettings: test),
        .executableTarget(
            name: "MinimalExample", dependencies: ["HostConnection"], path: "Examples/Minimal",
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),
        .executableTarget(
            name: "SecItemExample", dependencies: ["SecItem", "Security"], path: "Examples/SecItem",
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),
        // Searches of a program that runs already, for make bench.
        .executableTarget(
            name: "SecItemBenchmark", dependencies: ["SecItem"], path: "Tests/SecItemBenchmark", swiftSettings: test),
        .testTarget(
            name: "SecItemTests",
            dependencies: [
                "SecureBytes", "SecItem", "Security", "LocalAuthentication", "CryptoTokenKit", "KeychainHost",
                "KeychainModel",
                "SecItemExample", "SystemCrypto", "TestSupport", "TokenKit", "tokenctl",
            ],
            swiftSettings: test),
        .testTarget(
            name: "PKCS11BridgeTests",
            dependencies: [
                "SecureBytes", "PKCS11Bridge", "PKCS11Mechanisms", "CCryptoki", "CryptokiNames", "HostAPI", "Platform",
                "KeychainHost", "KeychainModel", "PIVDriver", "VirtualCard", "SystemCrypto", "TestSupport", "TokenKit",
                "Wire",
            ],
            swiftSettings: test),
        .testTarget(
            name: "TokenctlTests",
            dependencies: [
                "SecureBytes", "TokenKit", "tokenctl", "HostAPI", "ItemDictionaries", "KeychainHost", "KeychainModel",
                "Localization", "MinimalExample", "SystemCrypto", "TestSupport", argumentParser,
            ],
            exclude: ["Scripts"], swiftSettings: test),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "SecureBytes", "TokenKit", "PIVDriver", "VirtualCard", "HostAPI", "HostConnection", "KeychainHost",
                "KeychainModel", "Localization", "Platform", "SystemCrypto", "TestSupport", "CPCSC",
            ],
            exclude: ["Consumers/Scripts"], swiftSettings: test),
        .target(
            name: "FuzzTargets",
            dependencies: [
                "CryptokiNames", "SecureBytes", "HostAPI", "KeychainBridge", "KeychainHost", "KeychainModel",
                "Platform", "Settings",
                "TokenKit", "SystemCrypto", "PIVDriver", "PKCS11Bridge", "PKCS11Driver", "SSHAgent", "VirtualCard",
                "Wire",
            ],
            path: "Tests/Fuzz/Targets",
            swiftSettings: strict),
        .testTarget(
            name: "FuzzTests", dependencies: ["FuzzTargets", "TestSupport", "CCryptoki", "Wire"],
            path: "Tests/Fuzz/Tests",
            swiftSettings: test),
    ]
)

// libFuzzer brings its own main, so its executable is there only where it is asked for (make fuzz).
if Context.environment["TOKENKIT_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "tokenkit-fuzz", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Engine",
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])]))
}
